/* Every allocation is a block. A direct block is a mapping of its own. Stream-ordered blocks are
 * cut from segments, larger mappings that the pool keeps; a segment's blocks form a list in address
 * order, and free neighbours are joined when the same work has to be over before they can be used.
 *
 * A freed block remembers the stream of its free and the ticket of that stream's last item then. It
 * may be used again, as in CUDA's pools, by
 *   1. the same stream, at once: its later work comes after the earlier one anyway;
 *   2. any stream, once that work is done;
 *   3. any stream that is made to wait for it, but only if the device is otherwise full.
 *
 * Nothing is kept inside device memory itself. One lock guards all of it. */
#include "harness/device/cpu/cpu_memory.h"

#include "harness/device/cpu/cpu.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum {
    ALIGNMENT = 256,
    PAGE = 4096,
    SEGMENT = 2 << 20, /* the granularity of physical memory in CUDA's pools */
    BUCKETS = 4096,
    BINS = 64, /* of free blocks, by the logarithm of their size */
};

struct cpu_block {
    unsigned char *address;
    size_t bytes;                     /* a multiple of ALIGNMENT */
    bool direct, is_free;             /* is_free: in the pool */
    struct cpu_block *before, *after; /* in the segment; NULL at its ends */
    struct cpu_block *chain;          /* in use: of the hash table */
    struct cpu_block **bin_link, *bin_next;
    struct cpu_stream *stream; /* free: of the free; NULL: nothing to wait for */
    uint64_t ticket;
};

struct cpu_memory {
    pthread_mutex_t lock;
    struct regions regions;
    int64_t capacity, used, mapped, peak_used; /* mapped: what memory_info calls reserved */
    struct cpu_block *buckets[BUCKETS];        /* in use, by address */
    struct cpu_block *bins[BINS];
};

/* --- Blocks in use, by address --- */

static struct cpu_block **bucket_of(struct cpu_memory *memory, const void *address)
{
    uint64_t hash = (uint64_t)(uintptr_t)address * 0x9e3779b97f4a7c15u; /* Knuth's multiplicative */

    return &memory->buckets[hash >> 52];
}

static void note_in_use(struct cpu_memory *memory, struct cpu_block *block)
{
    struct cpu_block **bucket = bucket_of(memory, block->address);

    block->chain = *bucket;
    *bucket = block;
    memory->used += (int64_t)block->bytes;
    if (memory->used > memory->peak_used)
        memory->peak_used = memory->used;
}

static struct cpu_block **find_in_use(struct cpu_memory *memory, const void *address)
{
    struct cpu_block **link = bucket_of(memory, address);

    while (*link != NULL && (*link)->address != address) link = &(*link)->chain;
    return link;
}

/* --- Free blocks, by size --- */

static int bin_of(size_t bytes)
{
    return 63 - __builtin_clzll(bytes);
}

static void bin_put(struct cpu_memory *memory, struct cpu_block *block)
{
    struct cpu_block **bin = &memory->bins[bin_of(block->bytes)];

    block->is_free = true;
    block->bin_next = *bin;
    block->bin_link = bin;
    if (*bin != NULL)
        (*bin)->bin_link = &block->bin_next;
    *bin = block;
}

static void bin_take(struct cpu_block *block)
{
    *block->bin_link = block->bin_next;
    if (block->bin_next != NULL)
        block->bin_next->bin_link = block->bin_link;
    block->is_free = false;
}

/* True when the work before the block's free is done. Remembers it, so that the queue is asked
 * once. */
static bool is_over(struct cpu_block *block)
{
    if (block->stream != NULL && queue_done(block->stream->queue, block->ticket))
        block->stream = NULL;
    return block->stream == NULL;
}

/* The smallest block that fits, among those that `stream` may have (any block where `wait`). */
static struct cpu_block *find_free(struct cpu_memory *memory, struct cpu_stream *stream,
                                   size_t bytes, bool wait)
{
    struct cpu_block *best = NULL;

    for (int bin = bin_of(bytes); bin < BINS && best == NULL; bin++)
        for (struct cpu_block *block = memory->bins[bin]; block != NULL; block = block->bin_next)
            if (block->bytes >= bytes && (best == NULL || block->bytes < best->bytes) &&
                (wait || block->stream == stream || is_over(block)))
                best = block;
    return best;
}

/* --- Mappings --- */

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static bool has_room(const struct cpu_memory *memory, size_t bytes)
{
    return (int64_t)bytes <= memory->capacity - memory->mapped;
}

/* A limit is the more likely cause where there is one: Linux grants memory that it does not
 * have. */
static const char *advice_on_host_memory(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        return "raise the limit on virtual memory (ulimit -v)";
    return "close other programs, or use smaller settings";
}

/* cudaMalloc maps physical memory, so no kernel meets a page fault: hence MAP_POPULATE. */
static enum status map_bytes(struct cpu_memory *memory, size_t bytes, unsigned char **address)
{
    enum status status = STATUS_OK;
    void *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    if (mapping == MAP_FAILED)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "the host has no %zu bytes left for the CPU device; %s",
                 bytes, advice_on_host_memory());
    TRY_OUT(regions_add(&memory->regions, mapping, bytes, ACTIVITY_MEMORY_DEVICE, false));
    memory->mapped += (int64_t)bytes;
    *address = mapping;

out:
    if (status != STATUS_OK && mapping != MAP_FAILED)
        munmap(mapping, bytes);
    return status;
}

static void unmap(struct cpu_memory *memory, unsigned char *address)
{
    size_t bytes = regions_remove(&memory->regions, address, ACTIVITY_MEMORY_DEVICE);

    munmap(address, bytes);
    memory->mapped -= (int64_t)bytes;
}

/* --- The pool --- */

/* Unmaps the segments that are one free block whose work is over. */
static void release_segments(struct cpu_memory *memory)
{
    for (int bin = 0; bin < BINS; bin++)
        for (struct cpu_block *block = memory->bins[bin], *next; block != NULL; block = next) {
            next = block->bin_next;
            if (block->before != NULL || block->after != NULL || !is_over(block))
                continue;
            bin_take(block);
            unmap(memory, block->address);
            free(block);
        }
}

static bool can_join(struct cpu_block *a, struct cpu_block *b)
{
    return a->is_free && b->is_free && (a->stream == b->stream || (is_over(a) && is_over(b)));
}

/* Joins `block` with the one after it, which goes. */
static void join_after(struct cpu_block *block)
{
    struct cpu_block *gone = block->after;

    block->bytes += gone->bytes;
    if (gone->ticket > block->ticket)
        block->ticket = gone->ticket;
    block->after = gone->after;
    if (block->after != NULL)
        block->after->before = block;
    free(gone);
}

/* Free neighbours become one block at once, if both wait for work of the same stream or for
 * none. */
static void pool_put(struct cpu_memory *memory, struct cpu_block *block)
{
    bin_put(memory, block);
    if (block->after != NULL && can_join(block, block->after)) {
        bin_take(block->after);
        bin_take(block);
        join_after(block);
        bin_put(memory, block);
    }
    if (block->before != NULL && can_join(block->before, block)) {
        struct cpu_block *before = block->before;
        bin_take(block);
        bin_take(before);
        join_after(before);
        bin_put(memory, before);
    }
}

/* Joins neighbours whose work is over by now. pool_put() joins a block only with neighbours that
 * are ready at its free, so a full search would otherwise miss room that exists in pieces. */
static void join_all(struct cpu_memory *memory)
{
    for (int bin = 0; bin < BINS; bin++)
        for (struct cpu_block *block = memory->bins[bin]; block != NULL;) {
            struct cpu_block *after = block->after;
            if (after == NULL || !can_join(block, after)) {
                block = block->bin_next;
                continue;
            }
            bin_take(after);
            bin_take(block);
            join_after(block);
            bin_put(memory, block);
            block = memory->bins[bin]; /* the bin has changed: start again at its head */
        }
}

/* More is mapped than was asked for, so that the next allocations find room. */
static enum status add_segment(struct cpu_memory *memory, size_t bytes, struct cpu_block **block)
{
    enum status status = STATUS_OK;
    struct cpu_block *segment = calloc(1, sizeof *segment);
    size_t mapped = round_up(bytes, SEGMENT);

    if (segment == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory to record one more allocation");
    if (!has_room(memory, mapped)) /* Near the end of the capacity, no more than what is needed. */
        mapped = round_up(bytes, PAGE);
    TRY_OUT(map_bytes(memory, mapped, &segment->address));
    segment->bytes = mapped;
    *block = segment;

out:
    if (status != STATUS_OK)
        free(segment);
    return status;
}

/* Cuts `block` down to `bytes`. The rest goes into the pool with the same stream and ticket, so the
 * same work has to be done before it is used. */
static enum status cut(struct cpu_memory *memory, struct cpu_block *block, size_t bytes)
{
    struct cpu_block *rest;

    if (block->bytes == bytes)
        return STATUS_OK;
    rest = malloc(sizeof *rest);
    if (rest == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no host memory to record one more allocation");
    *rest = *block;
    rest->address += bytes;
    rest->bytes -= bytes;
    rest->before = block;
    if (rest->after != NULL)
        rest->after->before = rest;
    block->after = rest;
    block->bytes = bytes;
    bin_put(memory, rest);

    return STATUS_OK;
}

/* Makes `stream` wait for everything that the stream of the block's free has queued by now. This is
 * the last resort of an allocation in a full device (rule 3 above). */
static enum status wait_for(struct cpu_device *device, struct cpu_stream *stream,
                            const struct cpu_block *block)
{
    enum status status = STATUS_OK;
    struct event *event = NULL;

    TRY_OUT(cpu_event_create(&device->base, false, &event));
    event_put_record((struct cpu_event *)event, block->stream, 0);
    event_put_wait((struct cpu_event *)event, stream, 0);

out:
    if (event != NULL)
        cpu_event_destroy(event);
    return status;
}

/* --- Allocating, under the lock --- */

static enum status out_of_memory(const struct cpu_memory *memory, size_t asked)
{
    return status_fail(STATUS_DEVICE_OUT_OF_MEMORY, __FILE__, __LINE__,
                       "out of device memory: asked for %zu bytes; of %lld, %lld are used and %lld "
                       "free (the pool keeps %lld); use less, or give more with --device-memory",
                       asked, (long long)memory->capacity, (long long)memory->used,
                       (long long)(memory->capacity - memory->mapped),
                       (long long)(memory->mapped - memory->used));
}

/* Idle segments of the pool are given back before an allocation fails. */
static enum status alloc_direct(struct cpu_memory *memory, size_t bytes, struct cpu_block **result)
{
    enum status status = STATUS_OK;
    size_t rounded = round_up(bytes, ALIGNMENT), mapped = round_up(bytes, PAGE);
    struct cpu_block *block = calloc(1, sizeof *block);

    if (block == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory to record one more allocation");
    if (!has_room(memory, mapped))
        release_segments(memory);
    if (!has_room(memory, mapped))
        TRY_OUT(out_of_memory(memory, bytes));
    TRY_OUT(map_bytes(memory, mapped, &block->address));
    block->bytes = rounded;
    block->direct = true;
    *result = block;

out:
    if (status != STATUS_OK)
        free(block);
    return status;
}

/* Tries the cheapest first: a free block that needs no waiting, the same after joining neighbours,
 * room for a new segment once idle segments are given back, and at last a block that `stream` has
 * to wait for. */
static enum status alloc_ordered(struct cpu_device *device, struct cpu_stream *stream, size_t asked,
                                 struct cpu_block **result)
{
    enum status status = STATUS_OK;
    struct cpu_memory *memory = device->memory;
    size_t bytes = round_up(asked, ALIGNMENT);
    struct cpu_block *block = find_free(memory, stream, bytes, false);

    if (block == NULL) {
        join_all(memory);
        block = find_free(memory, stream, bytes, false);
    }
    if (block == NULL && !has_room(memory, round_up(bytes, PAGE)))
        release_segments(memory);
    if (block == NULL && !has_room(memory, round_up(bytes, PAGE))) {
        block = find_free(memory, stream, bytes, true);
        if (block == NULL)
            TRY_OUT(out_of_memory(memory, asked));
        TRY_OUT(wait_for(device, stream, block));
    }
    if (block != NULL)
        bin_take(block);
    else
        TRY_OUT(add_segment(memory, bytes, &block));
    status = cut(memory, block, bytes);
    if (status != STATUS_OK) {
        pool_put(memory, block);
        goto out;
    }
    block->stream = NULL;
    *result = block;

out:
    return status;
}

enum status cpu_alloc(struct device *base, struct stream *stream, enum allocation how, size_t bytes,
                      void **result)
{
    enum status status = STATUS_OK;
    struct cpu_device *device = (struct cpu_device *)base;
    struct cpu_memory *memory = device->memory;
    bool direct = how == ALLOCATE_DIRECT;
    struct call call = call_begin(device);
    struct cpu_block *block = NULL;

    *result = NULL;
    if (direct)
        TRY_OUT(capture_forbids_thread("allocating device memory"));
    else
        TRY_OUT(
            capture_forbids(&((struct cpu_stream *)stream)->capture, "allocating on the stream"));
    pthread_mutex_lock(&memory->lock);
    if (bytes > (size_t)memory->capacity) /* before rounding up could overflow */
        status = out_of_memory(memory, bytes);
    else if (direct)
        status = alloc_direct(memory, bytes, &block);
    else
        status = alloc_ordered(device, (struct cpu_stream *)stream, bytes, &block);
    if (status == STATUS_OK) {
        note_in_use(memory, block);
        *result = block->address;
        bytes = block->bytes;
    }
    pthread_mutex_unlock(&memory->lock);
    if (status == STATUS_OK)
        trace_memory(device, &call, *result, (int64_t)bytes, ACTIVITY_MEMORY_DEVICE, !direct);

out:
    call_end(device, &call, direct ? "cudaMalloc" : "cudaMallocAsync");
    return status;
}

/* Takes the block out of those in use. BAD_USAGE if there is none, or it was allocated the other
 * way. */
static enum status take_in_use(struct cpu_memory *memory, const void *address, bool direct,
                               struct cpu_block **block)
{
    enum status status = STATUS_OK;
    struct cpu_block **link;

    pthread_mutex_lock(&memory->lock);
    link = find_in_use(memory, address);
    if (*link == NULL)
        FAIL_OUT(STATUS_BAD_USAGE, "freeing %p, which is not allocated on this device", address);
    if ((*link)->direct != direct)
        FAIL_OUT(STATUS_BAD_USAGE, "freeing %p %s, but it was allocated the other way", address,
                 direct ? "directly" : "in stream order");
    *block = *link;
    *link = (*link)->chain;
    memory->used -= (int64_t)(*block)->bytes;

out:
    pthread_mutex_unlock(&memory->lock);
    return status;
}

enum status cpu_free(struct device *base, struct stream *stream, enum allocation how, void *address)
{
    enum status status = STATUS_OK;
    struct cpu_device *device = (struct cpu_device *)base;
    bool direct = how == ALLOCATE_DIRECT;
    struct call call = call_begin(device);
    struct cpu_block *block = NULL;
    int64_t bytes;

    if (direct)
        TRY_OUT(capture_forbids_thread("freeing device memory"));
    else
        TRY_OUT(capture_forbids(&((struct cpu_stream *)stream)->capture, "freeing on the stream"));
    TRY_OUT(take_in_use(device->memory, address, direct, &block));
    bytes = (int64_t)block->bytes;
    if (direct)
        device_wait_all(device);
    pthread_mutex_lock(&device->memory->lock);
    if (direct) {
        unmap(device->memory, block->address);
    } else {
        block->stream = (struct cpu_stream *)stream;
        block->ticket = queue_submitted(block->stream->queue);
        pool_put(device->memory, block);
    }
    pthread_mutex_unlock(&device->memory->lock);
    if (direct)
        free(block);
    trace_memory(device, &call, address, -bytes, ACTIVITY_MEMORY_DEVICE, !direct);

out:
    call_end(device, &call, direct ? "cudaFree" : "cudaFreeAsync");
    return status;
}

void cpu_memory_forget_stream(struct cpu_memory *memory, const struct cpu_stream *stream)
{
    pthread_mutex_lock(&memory->lock);
    for (int bin = 0; bin < BINS; bin++)
        for (struct cpu_block *block = memory->bins[bin]; block != NULL; block = block->bin_next)
            if (block->stream == stream)
                block->stream = NULL;
    pthread_mutex_unlock(&memory->lock);
}

enum status cpu_memory_info(struct device *base, struct memory_info *info)
{
    struct cpu_memory *memory = ((struct cpu_device *)base)->memory;

    pthread_mutex_lock(&memory->lock);
    *info = (struct memory_info){
        .capacity = memory->capacity,
        .used = memory->used,
        .reserved = memory->mapped,
        .free = memory->capacity - memory->mapped,
        .peak_used = memory->peak_used,
    };
    pthread_mutex_unlock(&memory->lock);
    return STATUS_OK;
}

enum status cpu_memory_trim(struct device *base)
{
    enum status status = STATUS_OK;
    struct cpu_device *device = (struct cpu_device *)base;
    struct cpu_memory *memory = device->memory;
    struct call call = call_begin(device);

    TRY_OUT(capture_forbids_thread("trimming the memory pool"));
    device_wait_all(device);
    pthread_mutex_lock(&memory->lock);
    join_all(memory);
    release_segments(memory);
    memory->peak_used = memory->used;
    pthread_mutex_unlock(&memory->lock);
    TRY_OUT(device_failure(device));

out:
    call_end(device, &call, "cudaMemPoolTrimTo");
    return status;
}

/* --- Host memory --- */

/* "Pinned" memory is recorded, and touched so that copies meet no page faults. The kernel may still
 * swap it: a worker thread can bear that, unlike a GPU's copy engine. */
enum status cpu_host_alloc(struct device *base, bool pinned, size_t bytes, void **result)
{
    enum status status = STATUS_OK;
    struct cpu_device *device = (struct cpu_device *)base;
    struct call call = { 0 };
    void *memory = NULL;
    size_t rounded;

    *result = NULL;
    if (bytes > SIZE_MAX - PAGE)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory: asked for %zu bytes", bytes);
    if (pinned) {
        TRY_OUT(capture_forbids_thread("allocating pinned memory"));
        call = call_begin(device);
    }
    rounded = round_up(bytes, pinned ? PAGE : ALIGNMENT);
    memory = aligned_alloc(pinned ? PAGE : ALIGNMENT, rounded);
    if (memory == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory: asked for %zu bytes%s", bytes,
                 pinned ? ", pinned" : "");
    if (pinned) {
        memset(memory, 0, rounded);
        TRY_OUT(
            regions_add(&device->memory->regions, memory, rounded, ACTIVITY_MEMORY_PINNED, false));
        trace_memory(device, &call, memory, (int64_t)rounded, ACTIVITY_MEMORY_PINNED, false);
    }
    *result = memory;

out:
    call_end(device, &call, "cudaHostAlloc");
    if (status != STATUS_OK)
        free(memory);
    return status;
}

/* cudaFreeHost waits for the device, which may still be copying from there. */
enum status cpu_host_free(struct device *base, bool pinned, void *address)
{
    enum status status = STATUS_OK;
    struct cpu_device *device = (struct cpu_device *)base;
    struct regions *regions = &device->memory->regions;
    struct call call = { 0 };

    if (pinned) {
        size_t bytes;
        TRY_OUT(capture_forbids_thread("freeing pinned memory"));
        call = call_begin(device);
        device_wait_all(device);
        bytes = regions_remove(regions, address, ACTIVITY_MEMORY_PINNED);
        if (bytes == 0)
            FAIL_OUT(STATUS_BAD_USAGE, "freeing %p, which is not pinned memory of this device",
                     address);
        trace_memory(device, &call, address, -(int64_t)bytes, ACTIVITY_MEMORY_PINNED, false);
    } else if (regions_kind(regions, address, 1) != ACTIVITY_MEMORY_PAGEABLE)
        FAIL_OUT(STATUS_BAD_USAGE,
                 "freeing %p, which is pinned or device memory, as pageable memory", address);
    free(address);

out:
    call_end(device, &call, "cudaFreeHost");
    return status;
}

/* --- Open and close --- */

struct regions *cpu_memory_regions(struct cpu_memory *memory)
{
    return &memory->regions;
}

enum status cpu_memory_open(struct cpu_memory **result, int64_t capacity)
{
    struct cpu_memory *memory = calloc(1, sizeof *memory);

    if (memory == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no host memory for the device's allocation records (%zu bytes)",
             sizeof *memory);
    pthread_mutex_init(&memory->lock, NULL);
    regions_init(&memory->regions);
    memory->capacity = capacity;
    *result = memory;

    return STATUS_OK;
}

void cpu_memory_close(struct cpu_memory *memory)
{
    if (memory == NULL)
        return;
    for (int i = 0; i < BUCKETS; i++)
        for (struct cpu_block *block = memory->buckets[i], *next; block != NULL; block = next) {
            next = block->chain;
            if (block->direct) {
                unmap(memory, block->address);
                free(block);
            } else {
                block->stream = NULL;
                pool_put(memory, block);
            }
        }
    join_all(memory);
    release_segments(memory);
    regions_release(&memory->regions);
    pthread_mutex_destroy(&memory->lock);
    free(memory);
}
