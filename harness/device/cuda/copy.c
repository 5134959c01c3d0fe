/* Copies and memsets.
 *
 * Who waits for what is CUDA's ("API synchronization behavior" in the runtime's reference); only that
 * a synchronous copy is one of its stream, not of the legacy default stream, where cudaMemcpy would
 * wait for every blocking stream of the process:
 *
 *                    asynchronous call                    synchronous call
 *   pinned <-> dev   returns at once                      returns when done
 *   pageable -> dev  returns when the bytes are staged    waits for the stream, then the same
 *   dev -> pageable  returns when done                    returns when done
 *   dev -> dev       returns at once                      returns at once */
#include "harness/device/cuda/cuda.h"
#include "harness/device/cuda/cuda_memory.h"

static const enum cudaMemcpyKind kinds[] = {
    [COPY_HOST_TO_DEVICE] = cudaMemcpyHostToDevice,
    [COPY_DEVICE_TO_HOST] = cudaMemcpyDeviceToHost,
    [COPY_DEVICE_TO_DEVICE] = cudaMemcpyDeviceToDevice,
};

/* Device memory must be where `kind` says so, and nowhere else; CUDA itself would only notice some of
 * the rest, as a sticky error. *pageable: the host's side is. */
static enum status check_sides(struct cuda_memory *memory, enum copy_kind kind, const void *to,
                               const void *from, size_t bytes, bool *pageable)
{
    enum status status = STATUS_OK;
    enum activity_memory source = cuda_memory_kind(memory, from, bytes);
    enum activity_memory destination = cuda_memory_kind(memory, to, bytes);
    bool from_device = kind != COPY_HOST_TO_DEVICE, to_device = kind != COPY_DEVICE_TO_HOST;

    if ((source == ACTIVITY_MEMORY_DEVICE) != from_device)
        FAIL(STATUS_BAD_USAGE,
             "copy of %zu bytes from %p: that is %s device memory, but the copy's kind says the "
             "contrary",
             bytes, from, from_device ? "not (all) in" : "in");
    if ((destination == ACTIVITY_MEMORY_DEVICE) != to_device)
        FAIL(STATUS_BAD_USAGE,
             "copy of %zu bytes to %p: that is %s device memory, but the copy's kind says the "
             "contrary",
             bytes, to, to_device ? "not (all) in" : "in");
    *pageable = source == ACTIVITY_MEMORY_PAGEABLE || destination == ACTIVITY_MEMORY_PAGEABLE;

out:
    return status;
}

enum status cuda_copy(struct stream *base, enum copy_kind kind, bool asynchronous, void *to,
                      const void *from, size_t bytes, bool *waited)
{
    enum status status = STATUS_OK;
    struct cuda_stream *stream = (struct cuda_stream *)base;
    struct cuda_device *device = (struct cuda_device *)base->device;
    struct relaxed relaxed = { false, cudaStreamCaptureModeRelaxed };
    bool pageable = false, host = kind != COPY_DEVICE_TO_DEVICE;

    TRY(cuda_enter(device));
    TRY(check_sides(device->memory, kind, to, from, bytes, &pageable));
    if (pageable)
        TRY(capture_forbids(&stream->capture, "copying from or to pageable memory on the stream"));
    if (!asynchronous)
        TRY(capture_forbids(&stream->capture, "a synchronous copy on the stream"));
    TRY(capture_allows(&stream->capture, stream->id));
    *waited = host && (!asynchronous || (pageable && kind == COPY_DEVICE_TO_HOST));
    if (atomic_load(&stream->capture) == NULL)
        relaxed = cuda_capture_relax();
    if (!asynchronous && pageable && kind == COPY_HOST_TO_DEVICE) {
        CUDA(cudaStreamSynchronize(stream->handle));
        CUDA(cudaMemcpyAsync(to, from, bytes, kinds[kind], stream->handle));
        goto out;
    }
    CUDA(cudaMemcpyAsync(to, from, bytes, kinds[kind], stream->handle));
    if (!asynchronous && host)
        CUDA(cudaStreamSynchronize(stream->handle));

out:
    cuda_capture_restore(relaxed);
    return status;
}

enum status cuda_memset(struct stream *base, void *memory, int byte, size_t bytes)
{
    enum status status = STATUS_OK;
    struct cuda_stream *stream = (struct cuda_stream *)base;
    struct cuda_device *device = (struct cuda_device *)base->device;

    TRY(cuda_enter(device));
    if (cuda_memory_kind(device->memory, memory, bytes) != ACTIVITY_MEMORY_DEVICE)
        FAIL(STATUS_BAD_USAGE, "memset of %zu bytes at %p: that is not (all) in device memory",
             bytes, memory);
    TRY(capture_allows(&stream->capture, stream->id));
    CUDA(cudaMemsetAsync(memory, byte, bytes, stream->handle));

out:
    return status;
}
