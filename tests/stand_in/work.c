/* Copies and memsets. */
#include "tests/stand_in/runtime.h"

#include <cupti.h>
#include <stdlib.h>
#include <string.h>

bool stand_in_is_lost(void)
{
    bool now;

    stand_in_lock();
    now = stand_in_lost() != cudaSuccess;
    stand_in_unlock();
    return now;
}

static cudaError_t run_copy(struct operation *operation)
{
    cudaError_t error;

    if (stand_in_is_lost())
        return cudaSuccess;
    error = stand_in_use(operation, operation->copy.from, operation->copy.bytes, false);
    if (error == cudaSuccess)
        error = stand_in_use(operation, operation->copy.to, operation->copy.bytes, true);
    if (error == cudaSuccess)
        memmove(operation->copy.to, operation->copy.from, operation->copy.bytes);
    return error;
}

static struct stand_in_work copy_work(enum cudaMemcpyKind kind, size_t bytes, bool pageable)
{
    uint8_t host =
        pageable ? CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE : CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
    struct stand_in_work work = { .kind = STAND_IN_COPY,
                                  .bytes = bytes,
                                  .asynchronous = true,
                                  .copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOD,
                                  .source = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                  .destination = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE };

    if (kind == cudaMemcpyHostToDevice) {
        work.copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
        work.source = host;
    } else if (kind == cudaMemcpyDeviceToHost) {
        work.copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
        work.destination = host;
    }
    return work;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    struct operation operation = { .run = run_copy };
    bool staged = kind == cudaMemcpyHostToDevice && !stand_in_is_pinned(from);
    bool waits = kind == cudaMemcpyDeviceToHost && !stand_in_is_pinned(to);
    cudaError_t error;

    operation.copy.to = to;
    operation.copy.from = from;
    operation.copy.bytes = bytes;
    operation.work = copy_work(kind, bytes, staged || waits);
    if (staged) {
        operation.owned = memcpy(stand_in_must(malloc(bytes)), from, bytes);
        operation.copy.from = operation.owned;
    }
    error = stand_in_submit(stream, &operation);
    if (!waits || error != cudaSuccess)
        return error;
    stand_in_lock();
    stand_in_wait_until(stream, stream->submitted);
    return stand_in_leave(cudaSuccess);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t bytes, cudaStream_t stream)
{
    struct operation operation = { .run = run_copy };

    if (stand_in_block_device(to) != to_device || stand_in_block_device(from) != from_device)
        return stand_in_result(cudaErrorInvalidValue);
    operation.copy.to = to;
    operation.copy.from = from;
    operation.copy.bytes = bytes;
    operation.work = copy_work(cudaMemcpyDeviceToDevice, bytes, false);
    return stand_in_submit(stream, &operation);
}

static cudaError_t run_memset(struct operation *operation)
{
    cudaError_t error;

    if (stand_in_is_lost())
        return cudaSuccess;
    error = stand_in_use(operation, operation->copy.to, operation->copy.bytes, true);
    if (error == cudaSuccess)
        memset(operation->copy.to, operation->copy.byte, operation->copy.bytes);
    return error;
}

cudaError_t cudaMemsetAsync(void *memory, int byte, size_t bytes, cudaStream_t stream)
{
    struct operation operation = { .run = run_memset };

    operation.copy.to = memory;
    operation.copy.byte = byte;
    operation.copy.bytes = bytes;
    operation.work = (struct stand_in_work){ .kind = STAND_IN_MEMSET,
                                             .bytes = bytes,
                                             .asynchronous = true,
                                             .destination = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE };
    return stand_in_submit(stream, &operation);
}
