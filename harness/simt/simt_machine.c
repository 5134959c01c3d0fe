/* The machine: its memory, and launches. Blocks of a grid follow each other, and so do the warps of
 * a block, each until it ends or waits at a barrier: one of the orders that a GPU may choose, and
 * the same one every time. Errors that only another order would show are found by what is known of
 * every word (code/memory.c, access/shared.c), not by trying orders. */
#include "harness/simt/simt_machine.h"

#include "harness/base/rows.h"
#include "harness/simt/lanes/tiles.h"
#include "harness/simt/reader/ptx_reader.h"

#include <fenv.h>
#include <stdlib.h>
#include <string.h>

enum status simt_open(struct simt **made)
{
    TRY(rows_make(made, 1));
    pthread_mutex_init(&(*made)->lock, NULL);
    return STATUS_OK;
}

void simt_close(struct simt *simt)
{
    if (simt == NULL)
        return;
    for (struct module *module = simt->modules, *next; module != NULL; module = next) {
        next = module->next;
        module_free(module);
    }
    for (struct allowed *row = simt->allowed, *next; row != NULL; row = next) {
        next = row->next;
        free(row->kernel);
        free(row);
    }
    for (struct heap_block *block = simt->heap.first, *next; block != NULL; block = next) {
        next = block->next;
        free(block);
    }
    free(simt->textures);
    memory_release(&simt->memory);
    pthread_mutex_destroy(&simt->lock);
    free(simt);
}

/* A module's variables become memory like any other, which is written from the start: they have
 * their initial values, or zeros. */
static enum status read_module(struct simt *simt, const char *text, size_t bytes, const char *name,
                               bool picks, const char *kernel)
{
    struct module *module;

    TRY(module_read(&module, text, bytes, name, picks, kernel));
    for (struct module_variable *variable = module->variables; variable != NULL;
         variable = variable->next) {
        TRY(simt_memory_add(simt, variable->memory, variable->bytes));
        simt_memory_written(simt, variable->memory, variable->bytes);
    }
    pthread_mutex_lock(&simt->lock);
    module->next = simt->modules;
    simt->modules = module;
    pthread_mutex_unlock(&simt->lock);
    return STATUS_OK;
}

enum status simt_read(struct simt *simt, const char *text, size_t bytes, const char *name)
{
    return read_module(simt, text, bytes, name, false, NULL);
}

enum status simt_read_kernel(struct simt *simt, const char *text, size_t bytes, const char *name,
                             const char *kernel)
{
    return read_module(simt, text, bytes, name, true, kernel);
}

bool simt_knows(const char *instruction)
{
    return reader_knows(instruction);
}

void simt_print_to(struct simt *simt, FILE *output)
{
    simt->output = output;
}

struct simt_kernel *simt_find(struct simt *simt, const char *name)
{
    struct simt_kernel *found = NULL;

    pthread_mutex_lock(&simt->lock);
    for (struct module *module = simt->modules; module != NULL && found == NULL;
         module = module->next)
        found = kernel_of_name(module->kernels, name);
    pthread_mutex_unlock(&simt->lock);
    return found;
}

void simt_kernels(struct simt *simt, struct simt_kernel **kernels, int most, int *count)
{
    *count = 0;
    pthread_mutex_lock(&simt->lock);
    for (struct module *module = simt->modules; module != NULL; module = module->next)
        for (struct simt_kernel *kernel = module->kernels; kernel != NULL; kernel = kernel->next) {
            if (*count < most)
                kernels[*count] = kernel;
            ++*count;
        }
    pthread_mutex_unlock(&simt->lock);
}

const char *simt_kernel_name(const struct simt_kernel *kernel)
{
    return kernel->name;
}

/* --- Memory --- */

enum status simt_memory_add(struct simt *simt, const void *address, size_t bytes)
{
    enum status status;

    pthread_mutex_lock(&simt->lock);
    status = memory_add(&simt->memory, address, bytes);
    pthread_mutex_unlock(&simt->lock);
    return status;
}

void simt_memory_remove(struct simt *simt, const void *address)
{
    pthread_mutex_lock(&simt->lock);
    memory_remove(&simt->memory, address);
    pthread_mutex_unlock(&simt->lock);
}

static void mark_memory(struct simt *simt, const void *address, size_t bytes, bool written)
{
    pthread_mutex_lock(&simt->lock);
    memory_mark(&simt->memory, address, bytes, written);
    pthread_mutex_unlock(&simt->lock);
}

void simt_memory_written(struct simt *simt, const void *address, size_t bytes)
{
    mark_memory(simt, address, bytes, true);
}

void simt_memory_forget(struct simt *simt, const void *address, size_t bytes)
{
    mark_memory(simt, address, bytes, false);
}

enum status simt_memory_close(struct simt *simt, const void *address, size_t bytes)
{
    enum status status;

    pthread_mutex_lock(&simt->lock);
    status = memory_close(&simt->memory, address, bytes, true);
    pthread_mutex_unlock(&simt->lock);
    return status;
}

void simt_memory_reopen(struct simt *simt, const void *address, size_t bytes)
{
    pthread_mutex_lock(&simt->lock);
    (void)memory_close(&simt->memory, address, bytes, false);
    pthread_mutex_unlock(&simt->lock);
}

enum status simt_texture_add(struct simt *simt, const struct simt_texture *texture,
                             const char *type)
{
    int number = number_find(type);

    if (number < 0)
        FAIL(STATUS_BAD_USAGE, "a texture of %s, which is unknown", type);
    TRY(rows_grow(&simt->textures, simt->texture_count + 1, &simt->texture_room));
    simt->textures[simt->texture_count] = *texture;
    simt->textures[simt->texture_count++].type = number;
    return STATUS_OK;
}

/* All uses in one place of the order are one piece of work. */
static bool is_under_way(const struct memory *memory, const struct simt_order *order)
{
    return memory->order.stream == order->stream && memory->order.number == order->number;
}

/* Under the lock. */
static enum status use_memory(struct memory *memory, const struct simt_use *use,
                              struct simt_finding *finding)
{
    uint64_t from = (uint64_t)(uintptr_t)use->address;
    struct memory_block *block;
    uint32_t stream = 0;

    if (!is_under_way(memory, use->order))
        memory_begin(memory, use->order);
    block = memory_find(memory, from);
    if (block == NULL)
        return STATUS_OK;
    if (use->bytes > block->end - from || memory_is_closed(block, from, use->bytes)) {
        finding->kind = SIMT_OUT_OF_BOUNDS;
        FAIL(STATUS_BAD_USAGE, "%s: %zu bytes, from byte %llu of %llu", use->name, use->bytes,
             (unsigned long long)(from - block->first),
             (unsigned long long)(block->end - block->first));
    }
    if (block->unordered && memory_unordered(block, from, use->bytes, use->store, &stream)) {
        finding->kind = SIMT_UNORDERED;
        FAIL(STATUS_BAD_USAGE, "%s on stream %u, from byte %llu of %llu: %s (%u)", use->name,
             use->order->stream, (unsigned long long)(from - block->first),
             (unsigned long long)(block->end - block->first), simt_finding_text(SIMT_UNORDERED),
             stream);
    }
    memory_stamp(block, from, use->bytes, use->store);
    if (use->store)
        memory_mark(memory, use->address, use->bytes, true);
    return STATUS_OK;
}

enum status simt_use(struct simt *simt, const struct simt_use *used, struct simt_finding *finding)
{
    enum status status;

    *finding = (struct simt_finding){ .kind = SIMT_NONE };
    pthread_mutex_lock(&simt->lock);
    status = use_memory(&simt->memory, used, finding);
    pthread_mutex_unlock(&simt->lock);
    return status;
}

struct simt_footprint simt_footprint_of(struct simt *simt, const void *address)
{
    struct simt_footprint footprint = { 0 };
    const struct memory_block *block;

    pthread_mutex_lock(&simt->lock);
    block = memory_peek(&simt->memory, (uint64_t)(uintptr_t)address);
    if (block != NULL)
        footprint = memory_footprint(&simt->memory, block);
    pthread_mutex_unlock(&simt->lock);
    return footprint;
}

/* --- Launches --- */

/* How many blocks, or threads, three dimensions make. */
static uint64_t product(const unsigned *of)
{
    return (uint64_t)of[0] * of[1] * of[2];
}

/* "Compute Capabilities", "Technical Specifications": the same from 7.5 on. More shared memory than
 * 48 KiB has to be asked for, which no kernel here does. */
static void check_limits(struct grid_launch *launch)
{
    static const unsigned most_blocks[] = { 2147483647, 65535, 65535 },
                          most_threads[] = { 1024, 1024, 64 };
    const struct simt_grid *grid = launch->grid;
    uint64_t threads = product(grid->threads);
    size_t shared = (size_t)launch->kernel->shared_bytes + grid->shared_bytes;

    for (int i = 0; i < 3; i++)
        if (grid->blocks[i] < 1 || grid->blocks[i] > most_blocks[i] || grid->threads[i] < 1 ||
            grid->threads[i] > most_threads[i])
            launch_find(launch, SIMT_LIMITS, "%u blocks of %u threads in direction %c",
                        grid->blocks[i], grid->threads[i], "xyz"[i]);
    if (threads > 1024 ||
        (launch->kernel->most_threads > 0 && threads > (uint64_t)launch->kernel->most_threads))
        launch_find(launch, SIMT_LIMITS, "%llu threads in a block", (unsigned long long)threads);
    if (shared > 48 << 10)
        launch_find(launch, SIMT_LIMITS, "%zu bytes of shared memory", shared);
}

/* Every size is checked before any argument is used: a wrong list of arguments would show as a
 * strange access only later. */
static void place_arguments(struct grid_launch *launch, unsigned char *parameters,
                            const void *const *arguments, const size_t *sizes, int count)
{
    const struct simt_kernel *kernel = launch->kernel;

    if (count != kernel->parameters)
        launch_find(launch, SIMT_ARGUMENTS, "%d of them; the kernel has %d", count,
                    kernel->parameters);
    for (int i = 0; i < count && !launch->ended; i++)
        if (sizes[i] != (size_t)kernel->parameter_size[i])
            launch_find(launch, SIMT_ARGUMENTS, "argument %d has %zu bytes; the kernel's has %d", i,
                        sizes[i], kernel->parameter_size[i]);
        else
            memcpy(parameters + kernel->parameter_offset[i], arguments[i], sizes[i]);
}

static uint32_t special_value(const struct warp *warp, enum special_kind special, uint32_t lane)
{
    const unsigned *blocks = warp->launch->grid->blocks, *threads = warp->launch->grid->threads;
    const uint32_t *block = warp->group->number;
    uint32_t thread = warp->number * SIMT_LANES + lane, bit = UINT32_C(1) << lane;

    switch (special) {
#define SPECIAL_VALUE(name, text, value)                                                           \
    case SPECIAL_##name:                                                                           \
        return value;
        SIMT_SPECIALS(SPECIAL_VALUE)
#undef SPECIAL_VALUE
    default:
        return 0;
    }
}

/* Most are the same in all lanes, and a block of one dimension numbers its threads in turn. */
static void fill_special(const struct warp *warp, enum special_kind special, uint32_t *lanes)
{
    const unsigned *threads = warp->launch->grid->threads;
    uint32_t first = special_value(warp, special, 0);

    if (special >= SPECIAL_CTAID_X && special <= SPECIAL_NCTAID_Z)
        for (uint32_t l = 0; l < SIMT_LANES; l++) lanes[l] = first;
    else if (special == SPECIAL_TID_X && threads[1] == 1 && threads[2] == 1)
        for (uint32_t l = 0; l < SIMT_LANES; l++) lanes[l] = warp->number * SIMT_LANES + l;
    else
        for (uint32_t l = 0; l < SIMT_LANES; l++) lanes[l] = special_value(warp, special, l);
}

/* Warps of a kernel with barriers may use the same words one after the other, which stamps of warps
 * could not tell from a race: there a block has one stamp. */
static void begin_warp(struct warp *warp, struct warp_group *group, uint64_t block, uint32_t number)
{
    struct grid_launch *launch = warp->launch;
    const struct simt_kernel *kernel = launch->kernel;
    uint64_t threads = product(launch->grid->threads),
             left = threads - (uint64_t)number * SIMT_LANES;
    uint64_t stamp = kernel->barriers ? block : block * launch->warps + number;

    warp->group = group;
    warp->number = number;
    /* Above 0, which means none, and below MEMORY_SEVERAL, which means several readers. In a grid
     * of more warps than that two may share a stamp, and a race between them is not seen. */
    warp->stamp = (uint32_t)(stamp % (MEMORY_SEVERAL - 1)) + 1;
    warp->live = left >= SIMT_LANES ? UINT32_MAX : (UINT32_C(1) << left) - 1;
    warp->waits = false;
    warp->meetings = 1;
    warp->copy_count = warp->copy_groups = 0;
    for (int n = 0; n < kernel->special_count; n++)
        fill_special(warp, (enum special_kind)kernel->specials[n].special,
                     REGISTER(uint32_t, kernel->specials[n].place));
    warp->depth = 0;
    warp_push(warp, 0, (int32_t)kernel->count, warp->live);
}

/* Warps run one after the other, each until it ends or waits; the last one to wait opens the
 * barrier. Without barriers one struct warp serves all in turn. */
static void run_group(struct grid_launch *launch, struct warp_group *group, struct warp *warps,
                      uint64_t block)
{
    unsigned ended = 0;

    if (!launch->kernel->barriers) {
        for (unsigned n = 0; n < launch->warps && !launch->ended; n++) {
            begin_warp(warps, group, block, n);
            warp_run(warps);
        }
        return;
    }
    for (unsigned n = 0; n < launch->warps; n++) begin_warp(&warps[n], group, block, n);
    while (ended < launch->warps && !launch->ended) {
        unsigned before = ended;
        for (unsigned n = 0; n < launch->warps && !launch->ended; n++) {
            bool ran = warps[n].depth > 0;
            warps[n].waits = false;
            warp_run(&warps[n]);
            ended += ran && warps[n].depth == 0;
        }
        /* The others are waited for in vain: CUDA wants all threads of the block there. */
        if (ended < launch->warps && ended > before && !launch->ended)
            launch_find(launch, SIMT_BARRIER,
                        "block (%u, %u, %u): %u of its %u warps have ended without it",
                        group->number[0], group->number[1], group->number[2], ended, launch->warps);
        group_settle(launch, group);
        if (ended < launch->warps)
            launch->kernel->barrier_counts[group->opener].passed++;
        group->phase++;
        group->said_yes[group->phase % 2] = group->said_no[group->phase % 2] = 0;
    }
}

/* Records about shared memory are cleared between blocks: each has its own. */
static void run_blocks(struct grid_launch *launch, struct warp_group *group, struct warp *warps)
{
    const unsigned *blocks = launch->grid->blocks;
    uint64_t count = product(blocks);
    size_t words = group->shared_bytes / 4 + 1;

    for (uint64_t block = 0; block < count && !launch->ended; block++) {
        group->number[0] = (uint32_t)(block % blocks[0]);
        group->number[1] = (uint32_t)(block / blocks[0] % blocks[1]);
        group->number[2] = (uint32_t)(block / blocks[0] / blocks[1]);
        group->place = (uint32_t)block + 1;
        group->phase = group->needed = 0;
        group->fenced = group->acquires = group->joined = false;
        memset(group->said_yes, 0, sizeof group->said_yes);
        memset(group->said_no, 0, sizeof group->said_no);
        if (group->shared_bytes > 0) {
            memset(group->words, 0, words * sizeof *group->words);
        }
        run_group(launch, group, warps, block);
        group_settle(launch, group);
        launch->kernel->warps += launch->warps;
    }
}

enum { SHARED_RESERVED = 1024 }; /* the system's own, of each block, which kernels may ask for */

/* Blocks use the same memory one after the other. */
static enum status make_group(struct warp_group *group, const struct grid_launch *launch)
{
    const struct simt_kernel *kernel = launch->kernel;

    group->shared_bytes = (size_t)kernel->shared_bytes + launch->grid->shared_bytes;
    group->reserved = (group->shared_bytes + 15) / 16 * 16;
    for (int i = 0; i < kernel->special_count; i++)
        if (kernel->specials[i].special >= SPECIAL_RESERVED_BEGIN &&
            kernel->specials[i].special <= SPECIAL_RESERVED_1)
            group->shared_bytes = group->reserved + SHARED_RESERVED;
    if (group->shared_bytes == 0)
        return STATUS_OK;
    TRY(rows_make(&group->shared, (int64_t)group->shared_bytes + 16));
    return rows_make(&group->words, (int64_t)group->shared_bytes / 4 + 1);
}

/* Warps without barriers follow each other in one place, with the kernel's own register file. */
static enum status make_warps(struct warp *warps, unsigned count, struct grid_launch *launch)
{
    const struct simt_kernel *kernel = launch->kernel;
    size_t bytes = ((size_t)kernel->file_bytes + 63) / 64 * 64;

    for (unsigned n = 0; n < count; n++) {
        warps[n].launch = launch;
        warps[n].registers = kernel->file;
        if (kernel->local_bytes > 0)
            TRY(rows_make(&warps[n].local, (int64_t)kernel->local_bytes * SIMT_LANES));
        if (kernel->call_bytes > 0)
            TRY(rows_make(&warps[n].calls, (int64_t)kernel->call_bytes * SIMT_LANES + 8));
        if (kernel->has_tiles)
            TRY(rows_make(&warps[n].stage, STAGE_WORDS));
        if (!kernel->barriers)
            continue;
        warps[n].registers = aligned_alloc(64, bytes + 64);
        if (warps[n].registers == NULL)
            FAIL(STATUS_OUT_OF_MEMORY, "no memory for the registers of %s", kernel->name);
        memcpy(warps[n].registers, kernel->file, bytes);
    }
    return STATUS_OK;
}

static void release_launch(struct warp *warps, unsigned count, const struct grid_launch *launch,
                           struct warp_group *group)
{
    for (unsigned n = 0; warps != NULL && n < count; n++) {
        if (warps[n].registers != launch->kernel->file)
            free(warps[n].registers);
        free(warps[n].local);
        free(warps[n].calls);
        free(warps[n].stage);
        free(warps[n].copies);
    }
    free(warps);
    free(group->shared);
    free(group->words);
    free(launch->cache);
}

/* Under the lock: everything but the checks of the launch as a whole. */
static enum status run_launch(struct grid_launch *launch)
{
    enum status status = STATUS_OK;
    struct warp_group group = { 0 };
    struct warp *warps = NULL;
    unsigned count;
    fenv_t environment;

    launch->warps = (unsigned)((product(launch->grid->threads) + SIMT_LANES - 1) / SIMT_LANES);
    count = launch->kernel->barriers ? launch->warps : 1;
    memory_begin(launch->memory, launch->grid->order);
    TRY_OUT(rows_make(&launch->cache, launch->kernel->slots));
    warps = aligned_alloc(64, count * sizeof *warps);
    if (warps == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory for %u warps", count);
    memset(warps, 0, count * sizeof *warps);
    TRY_OUT(make_warps(warps, count, launch));
    TRY_OUT(make_group(&group, launch));
    launch->kernel->launches++;
    fegetenv(&environment);
    fesetenv(FE_DFL_ENV); /* subnormal numbers count, and to nearest */
    run_blocks(launch, &group, warps);
    fesetenv(&environment);

out:
    release_launch(warps, count, launch, &group);
    return status;
}

enum status simt_launch(struct simt *simt, struct simt_kernel *kernel, const struct simt_grid *grid,
                        const void *const *arguments, const size_t *sizes, int count,
                        struct simt_finding *finding)
{
    enum status status = STATUS_OK;
    _Alignas(16) unsigned char parameters[SIMT_MOST_PARAMETERS + 64];
    struct grid_launch launch = {
        .simt = simt,
        .output = simt->output,
        .heap = &simt->heap,
        .textures = simt->textures,
        .texture_count = simt->texture_count,
        .memory = &simt->memory,
        .kernel = kernel,
        .grid = grid,
        .left = grid->most_instructions != 0 ? grid->most_instructions : UINT64_MAX,
        .most = grid->most_instructions != 0 ? grid->most_instructions : UINT64_MAX,
        .finding = finding,
        .parameters = parameters
    };

    *finding = (struct simt_finding){ .kind = SIMT_NONE };
    check_limits(&launch);
    place_arguments(&launch, parameters, arguments, sizes, count);
    if (!launch.ended) {
        pthread_mutex_lock(&simt->lock);
        status = run_launch(&launch);
        pthread_mutex_unlock(&simt->lock);
        TRY(status);
    }
    if (finding->kind != SIMT_NONE)
        FAIL(STATUS_BAD_USAGE, "%s: %s at %s (%s): %s", kernel->name,
             simt_finding_text(finding->kind), finding->place, finding->instruction,
             finding->detail);
    return STATUS_OK;
}
