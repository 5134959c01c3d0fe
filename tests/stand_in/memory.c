/* Memory: of the GPU, direct or of a pool, and pinned memory of the host. */
#include "tests/stand_in/runtime.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256, END_BYTES = 1 << 20 };

struct block {
    char *address;
    size_t bytes;
    struct CUmemPoolHandle_st *pool; /* NULL: not stream-ordered */
    int device;                      /* that it is memory of */
    bool pinned, free;
    struct CUstream_st *stream; /* of the free, and how much of its work comes before */
    long after;
    struct block *next;
};

struct CUmemPoolHandle_st {
    size_t reserved;
    uint64_t threshold;
};

/* Under the lock. */
static size_t in_use; /* of the GPU's memory, the pools' included */
static struct block *blocks;

/* Under the lock. */
static struct block *find_block(const void *address)
{
    for (struct block *block = blocks; block != NULL; block = block->next)
        if (block->address == address)
            return block;
    return NULL;
}

size_t stand_in_block_bytes(const void *address)
{
    const struct block *block;
    size_t bytes;

    stand_in_lock();
    block = find_block(address);
    bytes = block != NULL ? block->bytes : 0;
    stand_in_unlock();
    return bytes;
}

void stand_in_forbid(void *memory, size_t bytes, bool forbidden)
{
    if (!forbidden)
        simt_memory_reopen(stand_in_machine(), memory, bytes);
    else if (simt_memory_close(stand_in_machine(), memory, bytes) != STATUS_OK)
        abort();
    else
        simt_memory_forget(stand_in_machine(), memory, bytes);
}

static cudaError_t use(const struct operation *operation, const void *memory, size_t bytes,
                       bool store)
{
    static const char *const names[] = { "work", "a library", "a copy", "a memset" };
    const struct simt_use used = { names[operation->work.kind], &operation->order, memory, bytes,
                                   store };
    struct simt_finding finding;

    if (simt_use(stand_in_machine(), &used, &finding) == STATUS_OK)
        return cudaSuccess;
    return stand_in_found(finding.kind);
}

/* Uses only the two ends of much memory, as in copies that are timed: all of it would take longer
 * than the copy. */
cudaError_t stand_in_use(const struct operation *operation, const void *memory, size_t bytes,
                         bool store)
{
    cudaError_t error;

    if (bytes <= 2 * END_BYTES)
        return use(operation, memory, bytes, store);
    if (store)
        simt_memory_written(stand_in_machine(), memory, bytes);
    error = use(operation, memory, END_BYTES, store);
    if (error == cudaSuccess)
        error = use(operation, (const char *)memory + bytes - END_BYTES, END_BYTES, store);
    return error;
}

bool stand_in_is_pinned(const void *address)
{
    bool pinned = false;

    stand_in_lock();
    for (struct block *block = blocks; block != NULL && !pinned; block = block->next)
        pinned = block->pinned && (const char *)address >= block->address &&
                 (const char *)address < block->address + block->bytes;
    stand_in_unlock();
    return pinned;
}

int stand_in_block_device(const void *address)
{
    int device = -1;

    stand_in_lock();
    for (struct block *block = blocks; block != NULL && device < 0; block = block->next)
        if (!block->pinned && (const char *)address >= block->address &&
            (const char *)address < block->address + block->bytes)
            device = block->device;
    stand_in_unlock();
    return device;
}

static struct block *add_block(size_t bytes, struct CUmemPoolHandle_st *pool)
{
    struct block *block = stand_in_must(calloc(1, sizeof *block));

    block->bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (posix_memalign((void **)&block->address, 4096, block->bytes) != 0)
        abort();
    if (simt_memory_add(stand_in_machine(), block->address, bytes) != STATUS_OK)
        abort();
    block->device = stand_in_device();
    block->pool = pool;
    block->next = blocks;
    blocks = block;
    return block;
}

static void drop_block(struct block *gone)
{
    for (struct block **link = &blocks; *link != NULL; link = &(*link)->next)
        if (*link == gone) {
            *link = gone->next;
            break;
        }
    if (!gone->pinned)
        in_use -= gone->bytes;
    if (gone->pool != NULL)
        gone->pool->reserved -= gone->bytes;
    simt_memory_remove(stand_in_machine(), gone->address);
    free(gone->address);
    free(gone);
}

static bool has_room(size_t bytes)
{
    return bytes <= STAND_IN_MEMORY - in_use;
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    struct block *block;

    stand_in_lock();
    if (stand_in_is_unsafe())
        return stand_in_leave(cudaErrorStreamCaptureUnsupported);
    if (stand_in_lost() != cudaSuccess || !has_room(bytes))
        return stand_in_leave(cudaErrorMemoryAllocation);
    block = add_block(bytes, NULL);
    in_use += block->bytes;
    *memory = block->address;
    return stand_in_leave(cudaSuccess);
}

cudaError_t cudaFree(void *memory)
{
    struct block *block;

    stand_in_lock();
    if (stand_in_is_unsafe())
        return stand_in_leave(cudaErrorStreamCaptureUnsupported);
    stand_in_wait_for_all();
    block = find_block(memory);
    if (block == NULL || block->pinned || block->free)
        return stand_in_leave(cudaErrorInvalidValue);
    drop_block(block);
    return stand_in_leave(cudaSuccess);
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    struct block *block;

    (void)flags;
    stand_in_lock();
    if (stand_in_is_unsafe())
        return stand_in_leave(cudaErrorStreamCaptureUnsupported);
    if (stand_in_lost() != cudaSuccess || bytes > STAND_IN_MEMORY)
        return stand_in_leave(cudaErrorMemoryAllocation);
    block = add_block(bytes, NULL);
    block->pinned = true;
    simt_memory_written(stand_in_machine(), block->address, bytes);
    *memory = block->address;
    return stand_in_leave(cudaSuccess);
}

cudaError_t cudaFreeHost(void *memory)
{
    struct block *block;

    stand_in_lock();
    if (stand_in_is_unsafe())
        return stand_in_leave(cudaErrorStreamCaptureUnsupported);
    stand_in_wait_for_all();
    block = find_block(memory);
    if (block == NULL || !block->pinned)
        return stand_in_leave(cudaErrorInvalidValue);
    drop_block(block);
    return stand_in_leave(cudaSuccess);
}

/* STAND_IN_INTEGRATED=BYTES: the host's memory, of which cached files leave so much. */
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    const char *left = getenv("STAND_IN_INTEGRATED");

    stand_in_lock();
    *free_bytes = left != NULL ? strtoull(left, NULL, 10) : STAND_IN_MEMORY - in_use;
    *total = STAND_IN_MEMORY;
    return stand_in_leave(cudaSuccess);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties)
{
    if (properties->location.type != cudaMemLocationTypeDevice)
        return stand_in_result(cudaErrorInvalidValue);
    *pool = stand_in_must(calloc(1, sizeof **pool));
    return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    if (attribute != cudaMemPoolAttrReleaseThreshold)
        return stand_in_result(cudaErrorInvalidValue);
    memcpy(&pool->threshold, value, sizeof pool->threshold);
    return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    uint64_t reserved;

    if (attribute != cudaMemPoolAttrReservedMemCurrent)
        return stand_in_result(cudaErrorInvalidValue);
    stand_in_lock();
    if (stand_in_is_unsafe())
        return stand_in_leave(cudaErrorStreamCaptureUnsupported);
    reserved = pool->reserved;
    memcpy(value, &reserved, sizeof reserved);
    return stand_in_leave(cudaSuccess);
}

/* Under the lock: drops what is free and no longer used. */
static void trim(struct CUmemPoolHandle_st *pool)
{
    for (struct block *block = blocks, *next; block != NULL; block = next) {
        next = block->next;
        if (block->pool == pool && block->free &&
            (block->stream == NULL || block->stream->done >= block->after))
            drop_block(block);
    }
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
{
    if (keep != 0)
        return stand_in_result(cudaErrorInvalidValue);
    stand_in_lock();
    if (stand_in_is_unsafe())
        return stand_in_leave(cudaErrorStreamCaptureUnsupported);
    trim(pool);
    return stand_in_leave(cudaSuccess);
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    stand_in_lock();
    stand_in_wait_for_all();
    trim(pool);
    if (pool->reserved != 0) /* Somebody's memory would be left without a pool. */
        abort();
    stand_in_unlock();
    free(pool);
    return stand_in_result(cudaSuccess);
}

/* Memory of the pool that is another's from here on in the stream: as long as asked for, and nobody
 * has written it. */
static cudaError_t run_reuse(struct operation *operation)
{
    simt_memory_remove(stand_in_machine(), operation->copy.to);
    if (simt_memory_add(stand_in_machine(), operation->copy.to, operation->copy.bytes) != STATUS_OK)
        abort();
    return cudaSuccess;
}

static void reuse(struct block *block, size_t bytes, struct CUstream_st *stream)
{
    struct operation operation = { .run = run_reuse };

    operation.copy.to = block->address;
    operation.copy.bytes = bytes;
    stand_in_enqueue(stream, &operation);
}

cudaError_t cudaMallocFromPoolAsync(void **memory, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream)
{
    struct block *block;

    stand_in_lock();
    if (stand_in_lost() != cudaSuccess || stream->recording != NULL)
        return stand_in_leave(cudaErrorNotSupported);
    for (block = blocks; block != NULL; block = block->next)
        if (block->pool == pool && block->free && block->bytes >= bytes &&
            (block->stream == stream || block->stream == NULL))
            break;
    if (block == NULL) {
        if (!has_room(bytes))
            return stand_in_leave(cudaErrorMemoryAllocation);
        block = add_block(bytes, pool);
        in_use += block->bytes;
        pool->reserved += block->bytes;
    } else {
        reuse(block, bytes, stream);
    }
    block->free = false;
    *memory = block->address;
    return stand_in_leave(cudaSuccess);
}

cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream)
{
    struct block *block;

    stand_in_lock();
    block = find_block(memory);
    if (block == NULL || block->pool == NULL || block->free || stream->recording != NULL)
        return stand_in_leave(cudaErrorInvalidValue);
    block->free = true;
    block->stream = stream;
    block->after = stream->submitted;
    return stand_in_leave(cudaSuccess);
}

cudaError_t cudaDeviceGraphMemTrim(int device)
{
    return stand_in_result(device >= 0 && device < stand_in_devices() ? cudaSuccess
                                                                      : cudaErrorInvalidDevice);
}

void stand_in_forget_stream(const struct CUstream_st *stream)
{
    for (struct block *block = blocks; block != NULL; block = block->next)
        if (block->stream == stream)
            block->stream = NULL;
}
