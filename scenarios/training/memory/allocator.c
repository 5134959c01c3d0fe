/* The design follows PyTorch's CUDACachingAllocator: requests that differ by less than 512 bytes are
 * the same size, small and large blocks never share a segment, a request takes the smallest free block
 * that fits, a block is cut when the rest is worth keeping, and neighbours that are free become one.
 * blocks.h keeps account of that; what is here asks the device, counts and refuses.
 *
 * Allocated counts rounded requests, never what a block happens to be: it is the same whatever the
 * allocator did before. */
#include "scenarios/training/memory/allocator.h"

#include "scenarios/training/memory/blocks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct memory {
    struct stream *stream;
    struct device *device;
    struct memory_config config;
    struct memory_statistics statistics;
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

const char *memory_category_name(enum memory_category category)
{
    return (unsigned)category < MEMORY_CATEGORY_COUNT ? category_names[category] : "unknown";
}

static int64_t round_up(int64_t bytes, int64_t multiple)
{
    return (bytes + multiple - 1) / multiple * multiple;
}

/* --- counting --------------------------------------------------------------------------------- */

static void raise_to(int64_t *peak, int64_t now)
{
    if (*peak < now)
        *peak = now;
}

/* After the totals have changed by `bytes`. */
static void record_change(const struct memory *memory, const void *address, int64_t bytes,
                          enum memory_category category)
{
    const struct memory_statistics *now = &memory->statistics;

    if (memory->trace == NULL)
        return;
    trace_add_memory(memory->trace,
                     &(struct trace_memory){ .address = (uint64_t)(uintptr_t)address,
                                             .bytes = bytes,
                                             .category = memory_category_name(category),
                                             .category_allocated = now->allocated[category],
                                             .allocated = now->allocated_all,
                                             .reserved = now->reserved });
}

void memory_trace(struct memory *memory, struct trace *trace)
{
    memory->trace = trace;
    for (int i = 0; i < MEMORY_CATEGORY_COUNT; i++)
        record_change(memory, NULL, 0, (enum memory_category)i);
}

static void use_begin(struct memory *memory, struct block *block, int64_t requested,
                      enum memory_category category)
{
    struct memory_statistics *now = &memory->statistics;

    block->requested = requested;
    block->category = category;
    block_use(&memory->blocks, block);
    now->allocated[category] += requested;
    now->allocated_all += requested;
    raise_to(&now->peak[category], now->allocated[category]);
    raise_to(&now->peak_all, now->allocated_all);
    record_change(memory, block->address, requested, category);
}

static void use_end(struct memory *memory, struct block *block)
{
    block_unuse(&memory->blocks, block);
    memory->statistics.allocated[block->category] -= block->requested;
    memory->statistics.allocated_all -= block->requested;
    record_change(memory, block->address, -block->requested, block->category);
    block->requested = 0;
}

/* --- what the device gives -------------------------------------------------------------------- */

static enum allocation device_way(const struct memory *memory)
{
    return memory->config.allocator == ALLOCATOR_STREAM_ORDERED ? ALLOCATE_STREAM_ORDERED
                                                                : ALLOCATE_DIRECT;
}

static bool within_budget(const struct memory *memory, int64_t bytes)
{
    return memory->config.budget == 0 ||
           bytes <= memory->config.budget - memory->statistics.reserved;
}

/* DEVICE_OUT_OF_MEMORY, without a sentence yet, where the budget has no room. */
static enum status reserve(struct memory *memory, int64_t bytes, struct block **reserved)
{
    enum status status = STATUS_OK;
    struct memory_statistics *now = &memory->statistics;
    struct block *block = NULL;
    void *address;

    if (!within_budget(memory, bytes)) {
        status = STATUS_DEVICE_OUT_OF_MEMORY;
        goto out;
    }
    TRY(block_new(&memory->blocks, &block));
    TRY(device_alloc(memory->device, memory->stream, device_way(memory), (size_t)bytes, &address));
    now->device_allocations++;
    now->reserved += bytes;
    raise_to(&now->peak_reserved, now->reserved);
    block->address = address;
    block->bytes = bytes;
    *reserved = block;

out:
    if (status != STATUS_OK && block != NULL)
        block_drop(&memory->blocks, block);
    return status;
}

/* Gives a block that is in no list and is a whole piece of the device's back. */
static enum status give_back(struct memory *memory, struct block *block)
{
    enum status status = STATUS_OK;
    void *address = block->address;

    memory->statistics.reserved -= block->bytes;
    block_drop(&memory->blocks, block);
    TRY(device_free(memory->device, memory->stream, device_way(memory), address));

out:
    return status;
}

enum status memory_trim(struct memory *memory)
{
    enum status status = STATUS_OK;
    struct block *block;

    while (!memory->keep && (block = block_take_segment(&memory->blocks)) != NULL)
        TRY(give_back(memory, block));

out:
    return status;
}

void memory_keep(struct memory *memory, bool keep)
{
    memory->keep = keep;
}

/* --- out of memory ---------------------------------------------------------------------------- */

struct sentence {
    char text[400];
    size_t length;
};

static void say(struct sentence *sentence, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct sentence *sentence, const char *format, ...)
{
    size_t room = sizeof sentence->text - sentence->length;
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(sentence->text + sentence->length, room, format, arguments);
    va_end(arguments);
    sentence->length += length < 0 ? 0 : (size_t)length < room ? (size_t)length : room - 1;
}

/* In the largest unit of which there is one. */
static void say_bytes(struct sentence *sentence, int64_t bytes)
{
    if (bytes >= 1 << 30)
        say(sentence, "%.2f GiB", (double)bytes / (1 << 30));
    else if (bytes >= 1 << 20)
        say(sentence, "%.2f MiB", (double)bytes / (1 << 20));
    else if (bytes >= 1 << 10)
        say(sentence, "%.1f KiB", (double)bytes / (1 << 10));
    else
        say(sentence, "%lld bytes", (long long)bytes);
}

static void say_used(struct sentence *sentence, const struct memory_statistics *now)
{
    const char *separator = " (";

    say_bytes(sentence, now->allocated_all);
    say(sentence, " used");
    for (int i = 0; i < MEMORY_CATEGORY_COUNT; i++) {
        if (now->allocated[i] == 0)
            continue;
        say(sentence, "%s%s ", separator, category_names[i]);
        say_bytes(sentence, now->allocated[i]);
        separator = ", ";
    }
    say(sentence, "%s", now->allocated_all > 0 ? ")" : "");
}

/* What could still be reserved: of the budget, or of the device. */
static void say_free(struct sentence *sentence, struct memory *memory)
{
    const struct memory_statistics *now = &memory->statistics;
    struct memory_info info = { 0 };
    int64_t budget = memory->config.budget, pieces = now->reserved - now->allocated_all;
    bool known = device_memory_info(memory->device, &info) == STATUS_OK;

    if (budget > 0 && (!known || budget - now->reserved <= info.free)) {
        say_bytes(sentence, budget - now->reserved);
        say(sentence, " of the memory budget of ");
        say_bytes(sentence, budget);
    } else {
        say_bytes(sentence, info.free);
        say(sentence, " of the device's ");
        say_bytes(sentence, info.capacity);
    }
    say(sentence, " free");
    if (pieces > 0) {
        say(sentence, ", and ");
        say_bytes(sentence, pieces);
        say(sentence, " held free in smaller pieces");
    }
}

/* Whether budget and device have room for an allocation all the same. */
static bool has_room(struct memory *memory, int64_t bytes)
{
    struct memory_info info;

    if (memory->config.allocator == ALLOCATOR_CACHING)
        bytes = round_up(bytes, SEGMENT_BYTES);
    return within_budget(memory, bytes) && device_memory_info(memory->device, &info) == STATUS_OK &&
           info.free >= bytes;
}

/* `device` is what the device said where it refused although it has room, else NULL. */
static enum status out_of_memory(struct memory *memory, enum memory_category category, size_t bytes,
                                 const struct status_error *device)
{
    enum status status = STATUS_OK;
    struct sentence figures = { 0 };
    bool cut = memory->config.allocator == ALLOCATOR_CACHING && bytes <= SMALL_MAX;

    say_bytes(&figures, bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes);
    say(&figures, " asked for %s", category_names[category]);
    if (cut) /* or it would seem to fit */
        say(&figures, " (from a segment of %d MiB)", SEGMENT_BYTES >> 20);
    say(&figures, ", ");
    say_used(&figures, &memory->statistics);
    say(&figures, ", ");
    say_free(&figures, memory);
    FAIL(STATUS_DEVICE_OUT_OF_MEMORY,
         "out of device memory: %s; set batch lower%s or checkpointing=block%s%s%s", figures.text,
         memory->config.budget > 0 ? ", memory_budget higher" : "",
         device != NULL ? " (the device: " : "", device != NULL ? device->text : "",
         device != NULL ? ")" : "");

out:
    return status;
}

/* --- the allocator ---------------------------------------------------------------------------- */

/* A new piece of the device's memory. When there is no room for it, free segments are given back
 * first. */
static enum status reserve_or_trim(struct memory *memory, int64_t bytes, struct block **block)
{
    enum status status = reserve(memory, bytes, block);

    if (status != STATUS_DEVICE_OUT_OF_MEMORY || memory->config.allocator != ALLOCATOR_CACHING)
        return status;
    TRY(memory_trim(memory));
    status = reserve(memory, bytes, block);

out:
    return status;
}

/* A free block of at least `bytes`, in no list, cut to size. */
static enum status cached_block(struct memory *memory, int64_t bytes, struct block **found)
{
    enum status status = STATUS_OK;
    bool small = bytes <= SMALL_MAX;
    struct block *block = block_take(&memory->blocks, bytes, small);

    if (block == NULL)
        TRY(reserve_or_trim(memory, small ? SEGMENT_BYTES : round_up(bytes, SEGMENT_BYTES),
                            &block));
    block->small = small;
    block_cut(&memory->blocks, block, bytes);
    *found = block;

out:
    return status;
}

enum status memory_alloc(struct memory *memory, enum memory_category category, size_t bytes,
                         void **address)
{
    enum status status = STATUS_OK;
    struct block *block = NULL;
    int64_t rounded;

    *address = NULL;
    if ((unsigned)category >= MEMORY_CATEGORY_COUNT)
        FAIL(STATUS_INTERNAL, "memory category %d does not exist", (int)category);
    if (bytes > INT64_MAX / 2) /* beyond every device, and rounding it up might overflow */
        return out_of_memory(memory, category, bytes, NULL);
    rounded = round_up(bytes > 0 ? (int64_t)bytes : 1, BLOCK_ROUNDING);
    if (memory->config.allocator == ALLOCATOR_CACHING)
        status = cached_block(memory, rounded, &block);
    else
        status = reserve_or_trim(memory, rounded, &block);
    if (status == STATUS_DEVICE_OUT_OF_MEMORY) {
        struct status_error device = *status_last();
        return out_of_memory(memory, category, bytes, has_room(memory, rounded) ? &device : NULL);
    }
    TRY(status);
    use_begin(memory, block, rounded, category);
    *address = block->address;

out:
    return status;
}

enum status memory_free(struct memory *memory, void *address)
{
    enum status status = STATUS_OK;
    struct block *block;

    if (address == NULL)
        return STATUS_OK;
    block = block_find(&memory->blocks, address);
    if (block == NULL)
        FAIL(STATUS_INTERNAL, "block %p cannot be freed: it was not given out, or is free already",
             address);
    use_end(memory, block);
    if (memory->config.allocator == ALLOCATOR_CACHING)
        block_free(&memory->blocks, block);
    else
        TRY(give_back(memory, block));

out:
    return status;
}

enum status memory_open(struct memory **opened, struct stream *stream,
                        const struct memory_config *config)
{
    enum status status = STATUS_OK;
    struct memory *memory = calloc(1, sizeof *memory);

    *opened = NULL;
    if (memory == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "the host has no memory left for an allocator");
    TRY(blocks_init(&memory->blocks));
    memory->stream = stream;
    memory->device = stream_device(stream);
    memory->config = *config;
    *opened = memory;
    memory = NULL;

out:
    free(memory);
    return status;
}

/* Errors do not stop the rest from being freed, and there is nobody left to act on them. */
void memory_close(struct memory *memory)
{
    struct block *block;

    if (memory == NULL)
        return;
    stream_synchronize(memory->stream);
    while ((block = block_any(&memory->blocks)) != NULL) memory_free(memory, block->address);
    while ((block = block_take_segment(&memory->blocks)) != NULL) give_back(memory, block);
    blocks_release(&memory->blocks);
    free(memory);
}

struct memory_statistics memory_statistics(const struct memory *memory)
{
    return memory->statistics;
}

void memory_reset_peaks(struct memory *memory)
{
    struct memory_statistics *now = &memory->statistics;

    memcpy(now->peak, now->allocated, sizeof now->peak);
    now->peak_all = now->allocated_all;
    now->peak_reserved = now->reserved;
}
