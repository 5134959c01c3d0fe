/* Copies and memsets.
 *
 * The rules of waiting are CUDA's ("API synchronization behavior" in the runtime's reference), with
 * one exception: a synchronous copy is one of its stream, not of the legacy default stream, where
 * cudaMemcpy would wait for every blocking stream of the process:
 *
 *                    asynchronous call                    synchronous call
 *   pinned <-> dev   returns at once                      returns when done
 *   pageable -> dev  returns when the bytes are staged    waits for the stream, then the same
 *   dev -> pageable  returns when done                    returns when done
 *   dev -> dev       returns at once                      returns at once */
#include "harness/device/cuda/cuda.h"
#include "harness/device/cuda/cuda_collective.h"
#include "harness/device/cuda/cuda_memory.h"

static const enum cudaMemcpyKind kinds[] = {
    [COPY_HOST_TO_DEVICE] = cudaMemcpyHostToDevice,
    [COPY_DEVICE_TO_HOST] = cudaMemcpyDeviceToHost,
    [COPY_DEVICE_TO_DEVICE] = cudaMemcpyDeviceToDevice,
};

enum status cuda_copy(struct stream *base, enum copy_kind kind, bool asynchronous, void *to,
                      const void *from, size_t bytes, bool *waited)
{
    enum status status = STATUS_OK;
    struct cuda_stream *stream = (struct cuda_stream *)base;
    struct cuda_device *device = (struct cuda_device *)base->device;
    struct relaxed relaxed = { false, cudaStreamCaptureModeRelaxed };
    struct copy_sides sides;
    bool host = kind != COPY_DEVICE_TO_DEVICE;

    TRY_OUT(cuda_enter(device));
    /* CUDA itself would notice only some wrong addresses, as a sticky error. */
    TRY_OUT(regions_copy_sides(cuda_memory_regions(device->memory), kind, to, from, bytes, &sides));
    if (sides.pageable)
        TRY_OUT(
            capture_forbids(&stream->capture, "copying from or to pageable memory on the stream"));
    if (!asynchronous)
        TRY_OUT(capture_forbids(&stream->capture, "a synchronous copy on the stream"));
    TRY_OUT(capture_allows(&stream->capture, stream->id));
    *waited = host && (!asynchronous || (sides.pageable && kind == COPY_DEVICE_TO_HOST));
    if (atomic_load(&stream->capture) == NULL)
        relaxed = cuda_capture_relax();
    if (!asynchronous && sides.pageable && kind == COPY_HOST_TO_DEVICE) {
        CUDA_OUT(cudaStreamSynchronize(stream->handle));
        CUDA_OUT(cudaMemcpyAsync(to, from, bytes, kinds[kind], stream->handle));
        goto out;
    }
    CUDA_OUT(cudaMemcpyAsync(to, from, bytes, kinds[kind], stream->handle));
    if (!asynchronous && host)
        CUDA_OUT(cudaStreamSynchronize(stream->handle));
    if (*waited)
        TRY_OUT(collectives_check(device->collectives));

out:
    cuda_capture_restore(relaxed);
    return status;
}

enum status cuda_memset(struct stream *base, void *memory, int byte, size_t bytes)
{
    struct cuda_stream *stream = (struct cuda_stream *)base;
    struct cuda_device *device = (struct cuda_device *)base->device;

    TRY(cuda_enter(device));
    TRY(regions_check_memset(cuda_memory_regions(device->memory), memory, bytes));
    TRY(capture_allows(&stream->capture, stream->id));
    CUDA(cudaMemsetAsync(memory, byte, bytes, stream->handle));

    return STATUS_OK;
}
