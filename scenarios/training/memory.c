/* The design follows PyTorch's CUDACachingAllocator: sizes that differ by less than 512 bytes are the
 * same size, small and large blocks never share a segment, a request takes the smallest free block
 * that fits, a block is split when the rest is worth keeping, and neighbours that are free are merged.
 *
 * Device memory is not for the host to touch, so all that is known of a block lies in a record on the
 * host. A block in use is found by its address in a hash table. A free small block lies in the list of
 * its exact size, and a bit map says which of the 4096 lists are not empty, so that the best fit is
 * the next bit that is set. Free large blocks are few and lie in one list. Among equal blocks the one
 * freed last is taken: addresses have no say, so the same calls give the same layout in every run.
 *
 * Allocated counts rounded requests, never what a block happens to be: it is the same whatever the
 * allocator did before. */
#include "scenarios/training/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDING = 512,                             /* PyTorch's kMinBlockSize */
    SMALL_MAX = 1 << 20,                        /* kSmallSize */
    SEGMENT_BYTES = 2 << 20,                    /* kSmallBuffer and kRoundLarge */
    LARGE_REMAINDER = SMALL_MAX,                /* a large block is split for more than this */
    SMALL_SIZES = SEGMENT_BYTES / ROUNDING + 1, /* free lists: sizes 0 .. SEGMENT_BYTES */
    MAP_WORDS = SMALL_SIZES / 64 + 1,
    BUCKETS_FIRST = 256,
};

struct block {
    char *address;
    int64_t bytes;     /* of the block: at least those asked for */
    int64_t requested; /* rounded; 0: the block is free */
    enum memory_category category;
    bool small;
    struct block *left, *right;   /* neighbours in the segment; NULL at its ends */
    struct block *next, **linked; /* in a free list, a bucket or the list of spare records */
};

struct memory {
    struct stream *stream;
    struct device *device;
    struct memory_config config;
    struct memory_statistics statistics;
    struct block *free_small[SMALL_SIZES];
    uint64_t free_map[MAP_WORDS];
    struct block *free_large;
    struct block **buckets; /* blocks in use, by address */
    size_t bucket_count;    /* a power of two */
    size_t in_use;
    struct block *spare; /* records without a block */
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

/* --- lists of records ------------------------------------------------------------------------- */

static void list_push(struct block **head, struct block *block)
{
    block->next = *head;
    block->linked = head;
    if (*head != NULL)
        (*head)->linked = &block->next;
    *head = block;
}

static void list_remove(struct block *block)
{
    *block->linked = block->next;
    if (block->next != NULL)
        block->next->linked = block->linked;
    block->next = NULL;
    block->linked = NULL;
}

/* A record with nothing in it; NULL when the host has no memory left. */
static struct block *record_take(struct memory *memory)
{
    struct block *block = memory->spare;

    if (block == NULL)
        return calloc(1, sizeof *block);
    list_remove(block);
    memset(block, 0, sizeof *block);
    return block;
}

static void record_put(struct memory *memory, struct block *block)
{
    list_push(&memory->spare, block);
}

/* --- blocks in use, by address ---------------------------------------------------------------- */

/* Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4). */
static struct block **bucket_of(const struct memory *memory, const void *address)
{
    uint64_t hash = (uint64_t)(uintptr_t)address / ROUNDING * 0x9e3779b97f4a7c15u;

    return &memory->buckets[(hash >> 32) & (memory->bucket_count - 1)];
}

/* Twice as many buckets, once there is a block for each. Without memory for them the old ones serve,
 * only slower. */
static void buckets_grow(struct memory *memory)
{
    struct block **old = memory->buckets;
    size_t old_count = memory->bucket_count;
    struct block **buckets = calloc(2 * old_count, sizeof(struct block *));

    if (buckets == NULL)
        return;
    memory->buckets = buckets;
    memory->bucket_count = 2 * old_count;
    for (size_t i = 0; i < old_count; i++) {
        while (old[i] != NULL) {
            struct block *block = old[i];
            list_remove(block);
            list_push(bucket_of(memory, block->address), block);
        }
    }
    free(old);
}

static void use_begin(struct memory *memory, struct block *block, int64_t requested,
                      enum memory_category category)
{
    struct memory_statistics *now = &memory->statistics;

    block->requested = requested;
    block->category = category;
    if (memory->in_use == memory->bucket_count)
        buckets_grow(memory);
    list_push(bucket_of(memory, block->address), block);
    memory->in_use++;

    now->allocated[category] += requested;
    if (now->peak[category] < now->allocated[category])
        now->peak[category] = now->allocated[category];
    now->allocated_all += requested;
    if (now->peak_all < now->allocated_all)
        now->peak_all = now->allocated_all;
}

static void use_end(struct memory *memory, struct block *block)
{
    list_remove(block);
    memory->in_use--;
    memory->statistics.allocated[block->category] -= block->requested;
    memory->statistics.allocated_all -= block->requested;
    block->requested = 0;
}

/* NULL when no block in use begins at `address`. */
static struct block *use_find(const struct memory *memory, const void *address)
{
    struct block *block = *bucket_of(memory, address);

    while (block != NULL && block->address != address) block = block->next;
    return block;
}

/* --- free blocks ------------------------------------------------------------------------------ */

static void free_add(struct memory *memory, struct block *block)
{
    size_t size = (size_t)(block->bytes / ROUNDING);

    if (!block->small) {
        list_push(&memory->free_large, block);
        return;
    }
    list_push(&memory->free_small[size], block);
    memory->free_map[size / 64] |= (uint64_t)1 << size % 64;
}

static void free_remove(struct memory *memory, struct block *block)
{
    size_t size = (size_t)(block->bytes / ROUNDING);

    list_remove(block);
    if (block->small && memory->free_small[size] == NULL)
        memory->free_map[size / 64] &= ~((uint64_t)1 << size % 64);
}

static struct block *free_find_small(const struct memory *memory, int64_t bytes)
{
    size_t size = (size_t)(bytes / ROUNDING), word = size / 64;
    uint64_t bits = memory->free_map[word] & (~(uint64_t)0 << size % 64);

    while (bits == 0 && ++word < MAP_WORDS) bits = memory->free_map[word];
    return bits == 0 ? NULL : memory->free_small[word * 64 + (size_t)__builtin_ctzll(bits)];
}

static struct block *free_find_large(const struct memory *memory, int64_t bytes)
{
    struct block *best = NULL;

    for (struct block *block = memory->free_large; block != NULL; block = block->next) {
        if (block->bytes >= bytes && (best == NULL || block->bytes < best->bytes))
            best = block;
    }
    return best;
}

/* Cuts a block that is in no list down to `bytes`; the rest becomes a free block. Without a record for
 * the rest the block stays as it is. */
static void block_split(struct memory *memory, struct block *block, int64_t bytes)
{
    int64_t remainder = block->bytes - bytes;
    struct block *rest;

    if (remainder < ROUNDING || (!block->small && remainder <= LARGE_REMAINDER))
        return;
    rest = record_take(memory);
    if (rest == NULL)
        return;
    rest->address = block->address + bytes;
    rest->bytes = remainder;
    rest->small = block->small;
    rest->left = block;
    rest->right = block->right;
    if (rest->right != NULL)
        rest->right->left = rest;
    block->right = rest;
    block->bytes = bytes;
    free_add(memory, rest);
}

/* Adds `right`, which is in no list, to its left neighbour, likewise. */
static void block_merge(struct memory *memory, struct block *left, struct block *right)
{
    left->bytes += right->bytes;
    left->right = right->right;
    if (left->right != NULL)
        left->right->left = left;
    record_put(memory, right);
}

static bool is_free(const struct block *block)
{
    return block != NULL && block->requested == 0;
}

/* Makes a block that is in no list free, together with its free neighbours. */
static void block_free(struct memory *memory, struct block *block)
{
    struct block *left = block->left, *right = block->right;

    if (is_free(right)) {
        free_remove(memory, right);
        block_merge(memory, block, right);
    }
    if (is_free(left)) {
        free_remove(memory, left);
        block_merge(memory, left, block);
        block = left;
    }
    free_add(memory, block);
}

/* --- what the device gives -------------------------------------------------------------------- */

static enum allocation device_way(const struct memory *memory)
{
    return memory->config.allocator == ALLOCATOR_STREAM_ORDERED ? ALLOCATE_STREAM_ORDERED
                                                                : ALLOCATE_DIRECT;
}

/* DEVICE_OUT_OF_MEMORY, without a sentence yet, where the budget has no room. */
static enum status reserve(struct memory *memory, int64_t bytes, struct block **reserved)
{
    enum status status = STATUS_OK;
    struct memory_statistics *now = &memory->statistics;
    struct block *block = NULL;
    void *address;

    if (memory->config.budget > 0 && bytes > memory->config.budget - now->reserved) {
        status = STATUS_DEVICE_OUT_OF_MEMORY;
        goto out;
    }
    block = record_take(memory);
    if (block == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "the host has no memory left to keep account of a block of the "
                                   "device; close other programs");
    TRY(device_alloc(memory->device, memory->stream, device_way(memory), (size_t)bytes, &address));
    now->device_allocations++;
    now->reserved += bytes;
    if (now->peak_reserved < now->reserved)
        now->peak_reserved = now->reserved;
    block->address = address;
    block->bytes = bytes;
    *reserved = block;

out:
    if (status != STATUS_OK && block != NULL)
        record_put(memory, block);
    return status;
}

/* Gives a block that is in no list and is a whole piece of the device's back. */
static enum status give_back(struct memory *memory, struct block *block)
{
    enum status status = STATUS_OK;
    void *address = block->address;

    memory->statistics.reserved -= block->bytes;
    record_put(memory, block);
    TRY(device_free(memory->device, memory->stream, device_way(memory), address));

out:
    return status;
}

static bool is_whole_segment(const struct block *block)
{
    return block->left == NULL && block->right == NULL;
}

enum status memory_trim(struct memory *memory)
{
    enum status status = STATUS_OK;
    struct block *next;

    /* A segment of small blocks that is free is one block of the largest size. */
    for (struct block *block = memory->free_small[SMALL_SIZES - 1]; block != NULL; block = next) {
        next = block->next;
        free_remove(memory, block);
        TRY(give_back(memory, block));
    }
    for (struct block *block = memory->free_large; block != NULL; block = next) {
        next = block->next;
        if (!is_whole_segment(block))
            continue;
        free_remove(memory, block);
        TRY(give_back(memory, block));
    }

out:
    return status;
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

static enum status out_of_memory(struct memory *memory, enum memory_category category, size_t bytes)
{
    enum status status = STATUS_OK;
    struct sentence used = { 0 };

    say_bytes(&used, bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes);
    say(&used, " asked for %s, ", category_names[category]);
    say_used(&used, &memory->statistics);
    say(&used, ", ");
    say_free(&used, memory);
    FAIL(STATUS_DEVICE_OUT_OF_MEMORY,
         "out of device memory: %s; use a smaller batch, checkpointing=block%s", used.text,
         memory->config.budget > 0 ? " or a larger memory_budget" : "");

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
    struct block *block = small ? free_find_small(memory, bytes) : free_find_large(memory, bytes);

    if (block != NULL)
        free_remove(memory, block);
    else
        TRY(reserve_or_trim(memory, small ? SEGMENT_BYTES : round_up(bytes, SEGMENT_BYTES),
                            &block));
    block->small = small;
    block_split(memory, block, bytes);
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
        return out_of_memory(memory, category, bytes);
    rounded = round_up(bytes > 0 ? (int64_t)bytes : 1, ROUNDING);
    if (memory->config.allocator == ALLOCATOR_CACHING)
        status = cached_block(memory, rounded, &block);
    else
        status = reserve_or_trim(memory, rounded, &block);
    if (status == STATUS_DEVICE_OUT_OF_MEMORY)
        return out_of_memory(memory, category, bytes);
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
    block = use_find(memory, address);
    if (block == NULL)
        FAIL(STATUS_INTERNAL, "block %p cannot be freed: it was not given out, or is free already",
             address);
    use_end(memory, block);
    if (memory->config.allocator == ALLOCATOR_CACHING)
        block_free(memory, block);
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
        FAIL(STATUS_OUT_OF_MEMORY, "the host has no memory left for the allocator");
    memory->buckets = calloc(BUCKETS_FIRST, sizeof(struct block *));
    if (memory->buckets == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "the host has no memory left for the allocator");
    memory->bucket_count = BUCKETS_FIRST;
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
    for (size_t i = 0; i < memory->bucket_count; i++) {
        while (memory->buckets[i] != NULL) memory_free(memory, memory->buckets[i]->address);
    }
    while (memory->free_small[SMALL_SIZES - 1] != NULL || memory->free_large != NULL)
        memory_trim(memory);
    if (memory->config.allocator == ALLOCATOR_STREAM_ORDERED)
        stream_synchronize(memory->stream);
    while ((block = memory->spare) != NULL) {
        list_remove(block);
        free(block);
    }
    free(memory->buckets);
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
