/* Events. Those without timing are cheaper to record and to wait for. None has
 * cudaEventBlockingSync: a host thread that waits does so as for streams (stream.c). */
#include "harness/device/cuda/cuda.h"
#include "harness/device/cuda/cuda_collective.h"

#include <stdlib.h>

struct cuda_event {
    struct event base;
    cudaEvent_t handle;
    atomic_bool recorded; /* ever */
};

enum status cuda_event_create(struct device *device, bool timing, struct event **result)
{
    enum status status = STATUS_OK;
    struct cuda_event *event = calloc(1, sizeof *event);

    if (event == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory for an event (%zu bytes)", sizeof *event);
    event->base.device = device;
    event->base.timing = timing;
    TRY_OUT(cuda_enter((struct cuda_device *)device));
    CUDA_OUT(cudaEventCreateWithFlags(&event->handle,
                                      timing ? cudaEventDefault : cudaEventDisableTiming));
    *result = &event->base;

out:
    if (status != STATUS_OK)
        free(event);
    return status;
}

/* CUDA frees a pending event once it is no longer pending. */
void cuda_event_destroy(struct event *base)
{
    struct cuda_event *event = (struct cuda_event *)base;

    if (cuda_enter((struct cuda_device *)base->device) == STATUS_OK &&
        cudaEventDestroy(event->handle) != cudaSuccess)
        (void)cudaGetLastError();
    free(event);
}

enum status cuda_event_record(struct event *base, struct stream *stream_base)
{
    struct cuda_event *event = (struct cuda_event *)base;
    struct cuda_stream *stream = (struct cuda_stream *)stream_base;

    TRY(cuda_enter((struct cuda_device *)base->device));
    /* In a graph only an external record is seen by waits outside of it. */
    if (atomic_load(&stream->capture) != NULL) {
        TRY(capture_allows(&stream->capture, stream->id));
        CUDA(cudaEventRecordWithFlags(event->handle, stream->handle, cudaEventRecordExternal));
    } else {
        CUDA(cudaEventRecord(event->handle, stream->handle));
    }
    atomic_store(&event->recorded, true);

    return STATUS_OK;
}

enum status cuda_stream_wait_event(struct stream *stream_base, struct event *base)
{
    struct cuda_event *event = (struct cuda_event *)base;
    struct cuda_stream *stream = (struct cuda_stream *)stream_base;

    TRY(cuda_enter((struct cuda_device *)base->device));
    TRY(capture_forbids(&stream->capture, "making the stream wait for an event"));
    CUDA(cudaStreamWaitEvent(stream->handle, event->handle, cudaEventWaitDefault));

    return STATUS_OK;
}

enum status cuda_event_synchronize(struct event *base)
{
    enum status status = STATUS_OK;
    struct cuda_device *device = (struct cuda_device *)base->device;
    struct relaxed relaxed = { false, cudaStreamCaptureModeRelaxed };

    TRY_OUT(cuda_enter(device));
    relaxed = cuda_capture_relax();
    CUDA_OUT(cudaEventSynchronize(((struct cuda_event *)base)->handle));
    TRY_OUT(collectives_check(device->collectives));

out:
    cuda_capture_restore(relaxed);
    return status;
}

enum status cuda_event_query(struct event *base)
{
    enum status status = STATUS_OK;
    struct relaxed relaxed = { false, cudaStreamCaptureModeRelaxed };
    cudaError_t error;

    TRY_OUT(cuda_enter((struct cuda_device *)base->device));
    relaxed = cuda_capture_relax();
    error = cudaEventQuery(((struct cuda_event *)base)->handle);
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError(); /* "Not ready" is an answer, but the runtime keeps it as an error.
                                   */
        status = STATUS_NOT_READY;
        goto out;
    }
    status = errors_check(error, "cudaEventQuery", __FILE__, __LINE__);

out:
    cuda_capture_restore(relaxed);
    return status;
}

enum status cuda_event_elapsed(struct event *from_base, struct event *to_base, double *elapsed_ns)
{
    struct cuda_event *from = (struct cuda_event *)from_base, *to = (struct cuda_event *)to_base;
    float ms = 0;
    cudaError_t error;

    if (!atomic_load(&from->recorded) || !atomic_load(&to->recorded))
        FAIL(STATUS_BAD_USAGE, "event_elapsed: one of the events was never recorded");
    TRY(cuda_enter((struct cuda_device *)from->base.device));
    error = cudaEventElapsedTime(&ms, from->handle, to->handle);
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError();
        FAIL(STATUS_NOT_READY,
             "event_elapsed: the later event is not done yet; synchronise with it first");
    }
    TRY(errors_check(error, "cudaEventElapsedTime", __FILE__, __LINE__));
    *elapsed_ns = (double)ms * 1e6; /* The resolution is about 0.5 us (CUDA's documentation). */

    return STATUS_OK;
}
