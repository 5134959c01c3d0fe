/* The design follows PyTorch's CUDACachingAllocator: sizes are rounded up to 512 bytes, small and
 * large blocks never share a segment, a request takes the smallest free block that fits, a block is
 * cut where the rest is worth keeping, and free neighbours are merged. blocks.h does that
 * bookkeeping; this file asks the device, counts and refuses.
 *
 * "Allocated" counts rounded requests and not the sizes of blocks, so it does not depend on what
 * the allocator did before. */
#include "harness/engine/memory/allocator.h"

#include "harness/base/figures/quantity.h"
#include "harness/base/rows.h"
#include "harness/base/words/text.h"
#include "harness/engine/memory/blocks.h"

#include <stdlib.h>
#include <string.h>

struct allocator {
    struct stream *stream;
    struct device *device;
    struct allocator_config config;
    struct allocator_statistics statistics;
    struct blocks blocks;
    bool keep;           /* segments stay */
    struct trace *trace; /* NULL: nothing is recorded */
};

static const char *const category_names[MEMORY_CATEGORY_COUNT] = {
    [MEMORY_PARAMETERS] = "parameters",
    [MEMORY_GRADIENTS] = "gradients",
    [MEMORY_OPTIMIZER] = "optimizer",
    [MEMORY_ACTIVATIONS] = "activations",
    [MEMORY_ACTIVATION_GRADIENTS] = "activation gradients",
    [MEMORY_INPUT] = "input",
    [MEMORY_WORKSPACE] = "workspace",
};

const char *allocator_category_name(enum allocator_category category)
{
    return (unsigned)category < MEMORY_CATEGORY_COUNT ? category_names[category] : "unknown";
}

static int64_t round_up(int64_t bytes, int64_t multiple)
{
    return (bytes + multiple - 1) / multiple * multiple;
}

/* --- Segments --- */

static bool is_small(const struct allocator *allocator, int64_t bytes)
{
    return bytes <= SMALL_MAX && allocator->config.segments != SEGMENTS_EXACT;
}

/* The size of the segment that blocks of `bytes` share with others; 0: they get their own. */
static int64_t shared_segment(const struct allocator *allocator, int64_t bytes)
{
    if (allocator->config.mode != ALLOCATION_CACHING)
        return 0;
    if (is_small(allocator, bytes))
        return SEGMENT_BYTES;
    return allocator->config.segments == SEGMENTS_POOLED && bytes < POOLED_MAX ? POOLED_BYTES : 0;
}

/* The bytes that the device is asked for, for a block of `bytes`. Large blocks come in multiples of
 * a segment, so that a slightly larger request may find room in one that was freed. */
static int64_t segment_bytes(const struct allocator *allocator, int64_t bytes)
{
    int64_t shared = shared_segment(allocator, bytes);

    if (shared > 0)
        return shared;
    return allocator->config.mode == ALLOCATION_CACHING &&
                   allocator->config.segments != SEGMENTS_EXACT
               ? round_up(bytes, SEGMENT_BYTES)
               : bytes;
}

/* --- Counting --- */

static void raise_to(int64_t *peak, int64_t now)
{
    if (*peak < now)
        *peak = now;
}

/* Records a change of the totals by `bytes`, after it. */
static void record_change(const struct allocator *allocator, const void *address, int64_t bytes,
                          enum allocator_category category)
{
    const struct allocator_statistics *now = &allocator->statistics;

    if (allocator->trace == NULL)
        return;
    trace_add_memory(allocator->trace,
                     &(struct trace_memory){ .address = (uint64_t)(uintptr_t)address,
                                             .bytes = bytes,
                                             .category = allocator_category_name(category),
                                             .category_allocated = now->allocated[category],
                                             .allocated = now->allocated_all,
                                             .reserved = now->reserved });
}

void allocator_trace(struct allocator *allocator, struct trace *trace)
{
    allocator->trace = trace;
    for (int i = 0; i < MEMORY_CATEGORY_COUNT; i++)
        record_change(allocator, NULL, 0, (enum allocator_category)i);
}

/* --- Memory from the device --- */

static enum allocation device_way(const struct allocator *allocator)
{
    return allocator->config.mode == ALLOCATION_STREAM_ORDERED ? ALLOCATE_STREAM_ORDERED
                                                               : ALLOCATE_DIRECT;
}

static bool within_budget(const struct allocator *allocator, int64_t bytes)
{
    return allocator->config.budget == 0 ||
           bytes <= allocator->config.budget - allocator->statistics.reserved;
}

/* DEVICE_OUT_OF_MEMORY, without a sentence yet, where the budget has no room. */
static enum status reserve_block(struct allocator *allocator, int64_t bytes,
                                 struct block **reserved)
{
    enum status status = STATUS_OK;
    struct allocator_statistics *now = &allocator->statistics;
    struct block *block = NULL;
    void *address;

    if (!within_budget(allocator, bytes))
        return STATUS_DEVICE_OUT_OF_MEMORY;
    /* The record first: without one, memory of the device could not be given back. */
    TRY_OUT(block_new(&allocator->blocks, &block));
    TRY_OUT(device_alloc(allocator->device, allocator->stream, device_way(allocator), (size_t)bytes,
                         &address));
    now->device_allocations++;
    now->reserved += bytes;
    raise_to(&now->peak_reserved, now->reserved);
    block->address = address;
    block->bytes = bytes;
    *reserved = block;

out:
    if (status != STATUS_OK && block != NULL)
        block_drop(&allocator->blocks, block);
    return status;
}

/* Gives back to the device a block that is in no list and is all of one device allocation. */
static enum status give_segment_back(struct allocator *allocator, struct block *block)
{
    void *address = block->address;

    allocator->statistics.reserved -= block->bytes;
    block_drop(&allocator->blocks, block);
    return device_free(allocator->device, allocator->stream, device_way(allocator), address);
}

/* Only whole segments can go back: one with a block in use stays. */
enum status allocator_trim(struct allocator *allocator)
{
    struct block *block;

    while (!allocator->keep && (block = block_take_segment(&allocator->blocks)) != NULL)
        TRY(give_segment_back(allocator, block));

    return STATUS_OK;
}

void allocator_keep(struct allocator *allocator, bool keep)
{
    allocator->keep = keep;
}

/* --- Out of memory --- */

enum { FIGURES_SIZE = 400 };

static void say_used(char text[FIGURES_SIZE], const struct allocator_statistics *now)
{
    const char *separator = " (";

    text_append(text, FIGURES_SIZE, "%s used", quantity_bytes((double)now->allocated_all).text);
    for (int i = 0; i < MEMORY_CATEGORY_COUNT; i++) {
        if (now->allocated[i] == 0)
            continue;
        text_append(text, FIGURES_SIZE, "%s%s %s", separator, category_names[i],
                    quantity_bytes((double)now->allocated[i]).text);
        separator = ", ";
    }
    text_append(text, FIGURES_SIZE, "%s", now->allocated_all > 0 ? ")" : "");
}

/* The bytes that could still be reserved, of the budget or of the device, whichever is less. */
static void say_free(char text[FIGURES_SIZE], struct allocator *allocator)
{
    const struct allocator_statistics *now = &allocator->statistics;
    struct memory_info info = { 0 };
    int64_t budget = allocator->config.budget, pieces = now->reserved - now->allocated_all;
    bool known = device_memory_info(allocator->device, &info) == STATUS_OK;

    if (budget > 0 && (!known || budget - now->reserved <= info.free))
        text_append(text, FIGURES_SIZE, "%s of the memory budget of %s free",
                    quantity_bytes((double)(budget - now->reserved)).text,
                    quantity_bytes((double)budget).text);
    else
        text_append(text, FIGURES_SIZE, "%s of the device's %s free",
                    quantity_bytes((double)info.free).text,
                    quantity_bytes((double)info.capacity).text);
    if (pieces > 0)
        text_append(text, FIGURES_SIZE, ", and %s held free in smaller pieces",
                    quantity_bytes((double)pieces).text);
}

/* Whether budget and device have room for an allocation that the device has refused. */
static bool has_room(struct allocator *allocator, int64_t bytes)
{
    struct memory_info info;

    bytes = segment_bytes(allocator, bytes);
    return within_budget(allocator, bytes) &&
           device_memory_info(allocator->device, &info) == STATUS_OK && info.free >= bytes;
}

/* `device` is the device's error where it refused although there is room, else NULL. */
static enum status out_of_memory(struct allocator *allocator, enum allocator_category category,
                                 size_t bytes, const struct status_error *device)
{
    char figures[FIGURES_SIZE] = "";
    int64_t shared = bytes <= POOLED_BYTES ? shared_segment(allocator, (int64_t)bytes) : 0;

    text_append(figures, sizeof figures, "%s asked for %s", quantity_bytes((double)bytes).text,
                category_names[category]);
    if (shared > 0) /* else the request would seem to fit into free memory */
        text_append(figures, sizeof figures, " (from a segment of %d MiB)", (int)(shared >> 20));
    text_append(figures, sizeof figures, ", ");
    say_used(figures, &allocator->statistics);
    text_append(figures, sizeof figures, ", ");
    say_free(figures, allocator);
    FAIL(STATUS_DEVICE_OUT_OF_MEMORY,
         "out of device memory: %s; set batch lower%s or checkpointing=block%s%s%s", figures,
         allocator->config.budget > 0 ? ", memory_budget higher" : "",
         device != NULL ? " (the device: " : "", device != NULL ? device->text : "",
         device != NULL ? ")" : "");
}

/* --- The allocator --- */

/* Allocates from the device. If there is no room, it gives free segments back and tries again: they
 * may be large enough together though none is alone. */
static enum status reserve_or_trim(struct allocator *allocator, int64_t bytes, struct block **block)
{
    enum status status = reserve_block(allocator, bytes, block);

    if (status != STATUS_DEVICE_OUT_OF_MEMORY || allocator->config.mode != ALLOCATION_CACHING)
        return status;
    TRY(allocator_trim(allocator));
    return reserve_block(allocator, bytes, block);
}

/* A free block of at least `bytes`, in no list, cut to size. */
static enum status cached_block(struct allocator *allocator, int64_t bytes, struct block **found)
{
    bool small = is_small(allocator, bytes);
    bool any_rest = small || allocator->config.segments == SEGMENTS_EXACT;
    struct block *block = block_take(&allocator->blocks, bytes, small);

    if (block == NULL)
        TRY(reserve_or_trim(allocator, segment_bytes(allocator, bytes), &block));
    block->small = small;
    block_cut(&allocator->blocks, block, bytes, any_rest ? 0 : LARGE_REST);
    *found = block;

    return STATUS_OK;
}

enum status allocator_alloc(struct allocator *allocator, enum allocator_category category,
                            size_t bytes, void **address)
{
    enum status status;
    struct block *block = NULL;
    int64_t rounded;

    *address = NULL;
    if ((unsigned)category >= MEMORY_CATEGORY_COUNT)
        FAIL(STATUS_INTERNAL, "memory category %d does not exist", (int)category);
    if (bytes > INT64_MAX / 2) /* beyond every device, and rounding it up might overflow */
        return out_of_memory(allocator, category, bytes, NULL);
    rounded = round_up(bytes > 0 ? (int64_t)bytes : 1, BLOCK_ROUNDING);
    if (allocator->config.mode == ALLOCATION_CACHING)
        status = cached_block(allocator, rounded, &block);
    else
        status = reserve_or_trim(allocator, rounded, &block);
    if (status == STATUS_DEVICE_OUT_OF_MEMORY) {
        struct status_error device = *status_last();
        return out_of_memory(allocator, category, bytes,
                             has_room(allocator, rounded) ? &device : NULL);
    }
    TRY(status);
    /* Totals and peaks change before the trace gets its row, which has them. */
    struct allocator_statistics *now = &allocator->statistics;
    block->requested = rounded;
    block->category = category;
    block_use(&allocator->blocks, block);
    now->allocated[category] += rounded;
    now->allocated_all += rounded;
    raise_to(&now->peak[category], now->allocated[category]);
    raise_to(&now->peak_all, now->allocated_all);
    record_change(allocator, block->address, rounded, category);
    *address = block->address;

    return STATUS_OK;
}

enum status allocator_free(struct allocator *allocator, void *address)
{
    struct block *block;

    if (address == NULL)
        return STATUS_OK;
    block = block_find(&allocator->blocks, address);
    if (block == NULL)
        FAIL(STATUS_INTERNAL, "block %p cannot be freed: it was not given out, or is free already",
             address);
    block_unuse(&allocator->blocks, block);
    allocator->statistics.allocated[block->category] -= block->requested;
    allocator->statistics.allocated_all -= block->requested;
    record_change(allocator, block->address, -block->requested, block->category);
    block->requested = 0;
    if (allocator->config.mode == ALLOCATION_CACHING)
        block_free(&allocator->blocks, block);
    else
        TRY(give_segment_back(allocator, block));

    return STATUS_OK;
}

enum status allocator_open(struct allocator **opened, struct stream *stream,
                           const struct allocator_config *config)
{
    enum status status = STATUS_OK;
    struct allocator *allocator;

    *opened = NULL;
    TRY_OUT(rows_make(&allocator, 1));
    TRY_OUT(blocks_init(&allocator->blocks));
    allocator->stream = stream;
    allocator->device = stream_device(stream);
    allocator->config = *config;
    *opened = allocator;
    allocator = NULL;

out:
    free(allocator);
    return status;
}

/* An error does not stop the rest from being freed; no caller is left to act on it. */
void allocator_close(struct allocator *allocator)
{
    struct block *block;

    if (allocator == NULL)
        return;
    stream_synchronize(allocator->stream);
    /* Blocks that the training has not freed, such as those of a step that failed. */
    while ((block = block_any(&allocator->blocks)) != NULL)
        allocator_free(allocator, block->address);
    while ((block = block_take_segment(&allocator->blocks)) != NULL)
        give_segment_back(allocator, block);
    blocks_release(&allocator->blocks);
    free(allocator);
}

struct allocator_statistics allocator_statistics(const struct allocator *allocator)
{
    return allocator->statistics;
}

void allocator_reset_peaks(struct allocator *allocator)
{
    struct allocator_statistics *now = &allocator->statistics;

    memcpy(now->peak, now->allocated, sizeof now->peak);
    now->peak_all = now->allocated_all;
    now->peak_reserved = now->reserved;
}
