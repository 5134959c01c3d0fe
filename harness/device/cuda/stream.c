/* Streams. They are made non-blocking, so that nothing ever waits for the legacy default stream,
 * which some library may use.
 *
 * How a host thread waits is left to the runtime (cudaDeviceScheduleAuto): where there are more
 * cores than contexts it spins, as it does under PyTorch, and so takes a core from the loader's
 * workers. */
#include "harness/device/cuda/cuda.h"
#include "harness/device/cuda/cuda_collective.h"
#include "harness/device/cuda/cuda_gemm.h"

#include <stdlib.h>

enum status cuda_stream_create(struct device *base, struct stream **result)
{
    enum status status = STATUS_OK;
    struct cuda_device *device = (struct cuda_device *)base;
    struct cuda_stream *stream = calloc(1, sizeof *stream);

    if (stream == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory for a stream (%zu bytes)", sizeof *stream);
    stream->base.device = base;
    TRY_OUT(cuda_enter(device));
    CUDA_OUT(cudaStreamCreateWithFlags(&stream->handle, cudaStreamNonBlocking));
    pthread_mutex_lock(&device->streams_lock);
    stream->id = ++device->last_stream;
    stream->next = device->streams;
    device->streams = stream;
    pthread_mutex_unlock(&device->streams_lock);
    *result = &stream->base;

out:
    if (status != STATUS_OK)
        free(stream);
    return status;
}

/* Waits for the stream's work first, which may use the workspace that is given up. */
void cuda_stream_destroy(struct stream *base)
{
    struct cuda_stream *stream = (struct cuda_stream *)base;
    struct cuda_device *device = (struct cuda_device *)base->device;
    struct relaxed relaxed;

    if (cuda_enter(device) != STATUS_OK)
        return;
    cuda_capture_abandon(stream);
    relaxed = cuda_capture_relax();
    cudaStreamSynchronize(stream->handle);
    gemm_forget_stream(device->gemms, stream);
    cudaStreamDestroy(stream->handle);
    (void)cudaGetLastError(); /* The stream is gone even if these calls failed. */
    cuda_capture_restore(relaxed);
    pthread_mutex_lock(&device->streams_lock);
    for (struct cuda_stream **link = &device->streams; *link != NULL; link = &(*link)->next)
        if (*link == stream) {
            *link = stream->next;
            break;
        }
    pthread_mutex_unlock(&device->streams_lock);
    free(stream);
}

/* Whether the stream with this id is idle, or all streams if it is 0. Does not wait. A stream that
 * is being captured cannot be queried and counts as busy. */
static bool are_idle(struct cuda_device *device, uint32_t id)
{
    struct relaxed relaxed = cuda_capture_relax();
    bool idle = true;

    pthread_mutex_lock(&device->streams_lock);
    for (struct cuda_stream *stream = device->streams; stream != NULL && idle;
         stream = stream->next)
        idle = (id != 0 && stream->id != id) || (atomic_load(&stream->capture) == NULL &&
                                                 cudaStreamQuery(stream->handle) == cudaSuccess);
    pthread_mutex_unlock(&device->streams_lock);
    if (!idle)
        (void)cudaGetLastError();
    cuda_capture_restore(relaxed);
    return idle;
}

bool stream_all_idle(struct cuda_device *device)
{
    return are_idle(device, 0);
}

bool stream_is_idle(struct cuda_device *device, uint32_t id)
{
    return id == 0 || are_idle(device, id);
}

enum status cuda_stream_synchronize(struct stream *base)
{
    enum status status = STATUS_OK;
    struct cuda_stream *stream = (struct cuda_stream *)base;
    struct cuda_device *device = (struct cuda_device *)base->device;
    struct relaxed relaxed = { false, cudaStreamCaptureModeRelaxed };

    TRY_OUT(cuda_enter(device));
    TRY_OUT(capture_forbids(&stream->capture, "synchronising the stream"));
    relaxed = cuda_capture_relax();
    CUDA_OUT(cudaStreamSynchronize(stream->handle));
    TRY_OUT(collectives_check(device->collectives));

out:
    cuda_capture_restore(relaxed);
    return status;
}

enum status cuda_synchronize(struct device *base)
{

    TRY(cuda_enter((struct cuda_device *)base));
    TRY(capture_forbids_thread("synchronising the device"));
    CUDA(cudaDeviceSynchronize());
    TRY(collectives_check(((struct cuda_device *)base)->collectives));

    return STATUS_OK;
}
