/* Memory of the GPU, and books of it, since CUDA's own figures include other processes. The books
 * count in units of 256 bytes, CUDA's alignment. An allocation is entered before CUDA is asked and
 * struck out again if it refuses, so that two threads cannot both take the last room; no lock is
 * held while CUDA works, since cudaFree waits for the device.
 *
 * The pool keeps what is freed until it is trimmed (its release threshold is the largest there
 * is). When CUDA finds no memory for a direct allocation, the pool is trimmed and CUDA asked once
 * more. */
#include "harness/device/cuda/cuda_memory.h"

#include "harness/base/facts/system_file.h"
#include "harness/device/cuda/cuda_gemm.h"

#include <stdlib.h>

enum { ALIGNMENT = 256 };

struct cuda_memory {
    cudaMemPool_t pool;     /* NULL where the GPU has no memory pools */
    struct regions regions; /* device memory and pinned host memory */
    int64_t capacity;

    pthread_mutex_t lock;
    int64_t used, used_directly, peak_used;
    int64_t pool_bytes; /* kept by the pool when last asked */
};

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* --- The books --- */

/* The bytes that the pool has taken from the GPU. After a sticky error CUDA no longer answers, and
 * the last answer counts. */
static int64_t pool_bytes(struct cuda_memory *memory)
{
    struct relaxed relaxed = cuda_capture_relax();
    uint64_t bytes = 0;
    int64_t known;
    bool answers = memory->pool != NULL &&
                   cudaMemPoolGetAttribute(memory->pool, cudaMemPoolAttrReservedMemCurrent,
                                           &bytes) == cudaSuccess;

    if (!answers)
        (void)cudaGetLastError();
    cuda_capture_restore(relaxed);
    pthread_mutex_lock(&memory->lock);
    if (answers)
        memory->pool_bytes = (int64_t)bytes;
    known = memory->pool_bytes;
    pthread_mutex_unlock(&memory->lock);
    return known;
}

static struct memory_info books(struct cuda_memory *memory)
{
    int64_t pool = pool_bytes(memory);
    struct memory_info info = { .capacity = memory->capacity };

    pthread_mutex_lock(&memory->lock);
    info.used = memory->used;
    info.reserved = memory->used_directly + pool;
    info.peak_used = memory->peak_used;
    pthread_mutex_unlock(&memory->lock);
    if (info.reserved < info.used)
        info.reserved = info.used;
    if (info.reserved > info.capacity) /* The pool takes more from the GPU than it is asked for. */
        info.reserved = info.capacity;
    info.free = info.capacity - info.reserved;
    return info;
}

static enum status out_of_memory(struct cuda_memory *memory, size_t asked)
{
    struct memory_info info = books(memory);
    size_t gpu_free = 0, gpu_total = 0;

    if (cudaMemGetInfo(&gpu_free, &gpu_total) != cudaSuccess)
        (void)cudaGetLastError();
    return status_fail(
        STATUS_DEVICE_OUT_OF_MEMORY, __FILE__, __LINE__,
        "out of device memory: asked for %zu bytes; of %lld, %lld are used and %lld "
        "free (the pool keeps %lld; the GPU itself has %zu of %zu free, and others may "
        "use it); use less, or give more with --device-memory if that set a limit",
        asked, (long long)info.capacity, (long long)info.used, (long long)info.free,
        (long long)(info.reserved - info.used), gpu_free, gpu_total);
}

/* Enters an allocation of `bytes`, a multiple of ALIGNMENT. False if there is no room for it. */
static bool enter(struct cuda_memory *memory, int64_t bytes, bool directly)
{
    bool fits;

    pthread_mutex_lock(&memory->lock);
    fits = bytes <= memory->capacity - memory->used;
    if (fits) {
        memory->used += bytes;
        memory->used_directly += directly ? bytes : 0;
    }
    pthread_mutex_unlock(&memory->lock);
    return fits;
}

/* Also gives back what enter() took for an allocation that CUDA then refused. */
static void strike_out(struct cuda_memory *memory, int64_t bytes, bool directly)
{
    pthread_mutex_lock(&memory->lock);
    memory->used -= bytes;
    memory->used_directly -= directly ? bytes : 0;
    pthread_mutex_unlock(&memory->lock);
}

/* Only after CUDA gave the memory: a refused allocation is no use. */
static void note_peak(struct cuda_memory *memory)
{
    pthread_mutex_lock(&memory->lock);
    if (memory->peak_used < memory->used)
        memory->peak_used = memory->used;
    pthread_mutex_unlock(&memory->lock);
}

/* --- Allocations --- */

/* Without a stream directly, with one from the pool in the order of its work. */
static cudaError_t ask(struct cuda_memory *memory, const struct cuda_stream *stream, size_t bytes,
                       void **result)
{
    return stream == NULL ? cudaMalloc(result, bytes)
                          : cudaMallocFromPoolAsync(result, bytes, memory->pool, stream->handle);
}

static enum status obtain(struct cuda_memory *memory, const struct cuda_stream *stream,
                          size_t bytes, void **result)
{
    cudaError_t error = ask(memory, stream, bytes, result);

    if (error == cudaErrorMemoryAllocation && memory->pool != NULL) {
        (void)cudaGetLastError();
        CUDA(cudaMemPoolTrimTo(memory->pool, 0));
        error = ask(memory, stream, bytes, result);
    }
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        TRY(out_of_memory(memory, bytes));
    }
    TRY(errors_check(error, stream == NULL ? "cudaMalloc" : "cudaMallocFromPoolAsync", __FILE__,
                     __LINE__));

    return STATUS_OK;
}

/* The pool of a device with a limit is trimmed before more is asked of the GPU. */
static enum status keep_within(struct cuda_memory *memory, int64_t bytes)
{
    struct memory_info info = books(memory);

    if (memory->pool != NULL && info.free < bytes && info.reserved > info.used)
        CUDA(cudaMemPoolTrimTo(memory->pool, 0));

    return STATUS_OK;
}

enum status cuda_alloc(struct device *base, struct stream *stream, enum allocation how,
                       size_t bytes, void **result)
{
    enum status status = STATUS_OK;
    struct cuda_device *device = (struct cuda_device *)base;
    struct cuda_memory *memory = device->memory;
    bool directly = how == ALLOCATE_DIRECT, entered = false;
    size_t rounded = 0;

    *result = NULL;
    TRY_OUT(cuda_enter(device));
    if (directly)
        TRY_OUT(capture_forbids_thread("allocating device memory"));
    else
        TRY_OUT(
            capture_forbids(&((struct cuda_stream *)stream)->capture, "allocating on the stream"));
    if (!directly && memory->pool == NULL)
        FAIL_OUT(STATUS_UNSUPPORTED, "%s has no memory pools; use direct allocation",
                 base->properties.name);
    if (bytes > (size_t)memory->capacity) /* before rounding up could overflow */
        TRY_OUT(out_of_memory(memory, bytes));
    rounded = round_up(bytes, ALIGNMENT);
    if (directly)
        TRY_OUT(keep_within(memory, (int64_t)rounded));
    entered = enter(memory, (int64_t)rounded, directly);
    if (!entered)
        TRY_OUT(out_of_memory(memory, bytes));
    TRY_OUT(obtain(memory, directly ? NULL : (struct cuda_stream *)stream, bytes, result));
    TRY_OUT(regions_add(&memory->regions, *result, rounded, ACTIVITY_MEMORY_DEVICE, !directly));
    note_peak(memory);

out:
    if (status != STATUS_OK && entered)
        strike_out(memory, (int64_t)rounded, directly);
    if (status != STATUS_OK && *result != NULL) {
        cudaFree(*result); /* which takes pool memory as well */
        *result = NULL;
    }
    return status;
}

/* The books are right even where CUDA refuses because of a sticky error. */
enum status cuda_free(struct device *base, struct stream *stream, enum allocation how,
                      void *address)
{
    struct cuda_device *device = (struct cuda_device *)base;
    bool directly = how == ALLOCATE_DIRECT;

    TRY(cuda_enter(device));
    if (directly)
        TRY(capture_forbids_thread("freeing device memory"));
    else
        TRY(capture_forbids(&((struct cuda_stream *)stream)->capture, "freeing on the stream"));
    /* Takes the allocation out of the books. BAD_USAGE if there is none, or it was allocated the
     * other way. */
    struct region region = regions_find(&device->memory->regions, address);
    size_t bytes;
    if (region.kind == ACTIVITY_MEMORY_DEVICE && region.ordered == directly)
        FAIL(STATUS_BAD_USAGE, "freeing %p %s, but it was allocated the other way, %s", address,
             directly ? "directly" : "in stream order", directly ? "in stream order" : "directly");
    bytes = regions_remove(&device->memory->regions, address, ACTIVITY_MEMORY_DEVICE);
    if (bytes == 0)
        FAIL(STATUS_BAD_USAGE, "freeing %p, which is not allocated on this device", address);
    strike_out(device->memory, (int64_t)bytes, directly);
    if (directly)
        CUDA(cudaFree(address));
    else
        CUDA(cudaFreeAsync(address, ((struct cuda_stream *)stream)->handle));

    return STATUS_OK;
}

enum status cuda_memory_info(struct device *base, struct memory_info *info)
{
    TRY(cuda_enter((struct cuda_device *)base));
    *info = books(((struct cuda_device *)base)->memory);

    return STATUS_OK;
}

enum status cuda_memory_trim(struct device *base)
{
    struct cuda_device *device = (struct cuda_device *)base;
    struct cuda_memory *memory = device->memory;

    TRY(cuda_enter(device));
    TRY(capture_forbids_thread("trimming the memory pool"));
    /* Memory that queued work has freed is in the pool only when that work is done. */
    CUDA(cudaDeviceSynchronize());
    gemm_retired_close(device->gemms);
    if (memory->pool != NULL)
        CUDA(cudaMemPoolTrimTo(memory->pool, 0));
    CUDA(cudaDeviceGraphMemTrim(base->properties.index));
    pthread_mutex_lock(&memory->lock);
    memory->peak_used = memory->used;
    pthread_mutex_unlock(&memory->lock);

    return STATUS_OK;
}

/* --- Host memory --- */

enum status cuda_host_alloc(struct device *base, bool pinned, size_t bytes, void **result)
{
    enum status status = STATUS_OK;
    struct cuda_device *device = (struct cuda_device *)base;
    cudaError_t error;

    *result = NULL;
    if (!pinned) {
        if (bytes <= SIZE_MAX - ALIGNMENT)
            *result = aligned_alloc(ALIGNMENT, round_up(bytes, ALIGNMENT));
        if (*result == NULL)
            FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory: asked for %zu bytes", bytes);
        goto out;
    }
    TRY_OUT(cuda_enter(device));
    TRY_OUT(capture_forbids_thread("allocating pinned memory"));
    error = cudaHostAlloc(result, bytes, cudaHostAllocDefault);
    if (error == cudaErrorMemoryAllocation) { /* CUDA uses it for host memory, too */
        (void)cudaGetLastError();
        *result = NULL;
        FAIL_OUT(
            STATUS_OUT_OF_MEMORY,
            "no host memory: asked for %zu bytes, pinned; use less, or raise the limit of locked "
            "memory (ulimit -l)",
            bytes);
    }
    TRY_OUT(errors_check(error, "cudaHostAlloc", __FILE__, __LINE__));
    status = regions_add(&device->memory->regions, *result, bytes, ACTIVITY_MEMORY_PINNED, false);
    if (status != STATUS_OK) {
        cudaFreeHost(*result);
        *result = NULL;
    }

out:
    return status;
}

enum status cuda_host_free(struct device *base, bool pinned, void *address)
{
    struct cuda_device *device = (struct cuda_device *)base;
    struct regions *regions = &device->memory->regions;

    if (!pinned) {
        if (regions_kind(regions, address, 1) != ACTIVITY_MEMORY_PAGEABLE)
            FAIL(STATUS_BAD_USAGE,
                 "freeing %p, which is pinned or device memory, as pageable memory", address);
        free(address);
        return STATUS_OK;
    }
    TRY(cuda_enter(device));
    TRY(capture_forbids_thread("freeing pinned memory"));
    if (regions_remove(regions, address, ACTIVITY_MEMORY_PINNED) == 0)
        FAIL(STATUS_BAD_USAGE, "freeing %p, which is not pinned memory of this device", address);
    CUDA(cudaFreeHost(address));

    return STATUS_OK;
}

/* --- Open and close --- */

struct regions *cuda_memory_regions(struct cuda_memory *memory)
{
    return &memory->regions;
}

static enum status pool_open(cudaMemPool_t *pool, int index)
{
    struct cudaMemPoolProps properties = {
        .allocType = cudaMemAllocationTypePinned, /* CUDA's name for memory that stays in place */
        .location = { .type = cudaMemLocationTypeDevice, .id = index },
    };
    uint64_t keep_all = UINT64_MAX;
    int supported = 0;

    CUDA(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, index));
    if (!supported)
        return STATUS_OK;
    CUDA(cudaMemPoolCreate(pool, &properties));
    CUDA(cudaMemPoolSetAttribute(*pool, cudaMemPoolAttrReleaseThreshold, &keep_all));

    return STATUS_OK;
}

/* A GPU that shares the host's memory (Jetson, GB10) counts cached pages of files as used, though
 * the kernel gives them up when they are asked for: MemAvailable counts these as well. */
static enum status gpu_memory(int index, size_t *gpu_free, size_t *gpu_total)
{
    int integrated = 0;
    char kilobytes[32];

    CUDA(cudaMemGetInfo(gpu_free, gpu_total));
    CUDA(cudaDeviceGetAttribute(&integrated, cudaDevAttrIntegrated, index));
    if (integrated &&
        system_file_key("", "/proc/meminfo", "MemAvailable", kilobytes, sizeof kilobytes)) {
        size_t available = (size_t)strtoull(kilobytes, NULL, 10) * 1024;
        if (available > *gpu_total)
            available = *gpu_total;
        if (*gpu_free < available)
            *gpu_free = available;
    }

    return STATUS_OK;
}

enum status cuda_memory_open(struct cuda_memory **result, int index, int64_t limit)
{
    struct cuda_memory *memory = calloc(1, sizeof *memory);
    size_t gpu_free = 0, gpu_total = 0;

    *result = memory;
    if (memory == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no host memory for the device's allocation records (%zu bytes)",
             sizeof *memory);
    pthread_mutex_init(&memory->lock, NULL);
    regions_init(&memory->regions);
    TRY(pool_open(&memory->pool, index));
    TRY(gpu_memory(index, &gpu_free, &gpu_total));
    /* The memory that is free when the device opens: other processes may hold the rest. */
    memory->capacity = (int64_t)gpu_free;
    if (limit > memory->capacity)
        FAIL(STATUS_DEVICE_OUT_OF_MEMORY,
             "cuda:%d: %lld bytes of device memory are asked for, but only %zu of %zu are free; "
             "ask for less, or see in nvidia-smi which processes use the rest",
             index, (long long)limit, gpu_free, gpu_total);
    if (limit > 0)
        memory->capacity = limit;

    return STATUS_OK;
}

void cuda_memory_close(struct cuda_memory *memory)
{
    if (memory == NULL)
        return;
    /* Memory that the program has not freed, of the device and pinned. */
    for (size_t i = 0; i < memory->regions.count; i++) {
        void *address = (void *)memory->regions.items[i].begin;
        if (memory->regions.items[i].kind == ACTIVITY_MEMORY_PINNED)
            cudaFreeHost(address);
        else
            cudaFree(address);
    }
    if (memory->pool != NULL)
        cudaMemPoolDestroy(memory->pool);
    (void)cudaGetLastError();
    regions_release(&memory->regions);
    pthread_mutex_destroy(&memory->lock);
    free(memory);
}
