/* Streams: a queue each, whose worker runs items in order.
 *
 * An error of queued work is kept by the device, as in CUDA: the first one stays, later work is
 * skipped, and every synchronisation from then on returns it. */
#include "harness/base/clock.h"
#include "harness/device/cpu/cpu.h"
#include "harness/device/cpu/cpu_gemm.h"
#include "harness/device/cpu/cpu_memory.h"

#include <stdlib.h>
#include <string.h>

/* The first failure stays: later ones follow from it. */
static void fail_for_good(struct cpu_device *device)
{
    pthread_mutex_lock(&device->failure_lock);
    if (!atomic_load(&device->failed)) {
        device->failure = *status_last();
        atomic_store(&device->failed, true);
    }
    pthread_mutex_unlock(&device->failure_lock);
}

enum status device_failure(struct cpu_device *device)
{
    if (!atomic_load_explicit(&device->failed, memory_order_acquire))
        return STATUS_OK;
    return status_raise(&device->failure);
}

void stream_run(struct cpu_stream *stream, const struct item *item, uint32_t correlation,
                uint32_t graph, uint32_t node)
{
    struct cpu_device *device = (struct cpu_device *)stream->base.device;
    bool shown = correlation != 0 && item->work->show != NULL;
    int64_t start_ns = shown ? clock_ns() : 0;
    struct activity activity;

    if (!item->work->bookkeeping && atomic_load_explicit(&device->failed, memory_order_acquire))
        return;
    if (item->work->run(stream, item) != STATUS_OK)
        fail_for_good(device);
    if (!shown)
        return;
    activity = (struct activity){
        .start_ns = start_ns,
        .end_ns = clock_ns(),
        .stream = stream->id,
        .correlation = correlation,
        .graph = graph,
        .graph_node = node,
    };
    item->work->show(stream, item, &activity);
    if (activity.kind != ACTIVITY_KIND_COUNT)
        device->sink.record(device->sink.context, &activity);
}

static void run_item(void *context, const struct item *item)
{
    stream_run(context, item, item->correlation, 0, 0);
}

/* A device that is given work does not stop the host, but a thread that wakes up may take the core
 * of the one that woke it, in the middle of a launch. Linux does not let SCHED_BATCH do that
 * (sched(7)); elsewhere the worker stays as it is. */
static void start_worker(void *context)
{
    (void)context;
    pthread_setschedparam(pthread_self(), SCHED_BATCH,
                          &(struct sched_param){ .sched_priority = 0 });
    gemm_start_worker();
}

enum status cpu_stream_create(struct device *base, struct stream **result)
{
    enum status status = STATUS_OK;
    struct cpu_device *device = (struct cpu_device *)base;
    struct cpu_stream *stream = calloc(1, sizeof *stream);
    struct call call = call_begin(device);

    if (stream == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory for a stream (%zu bytes)", sizeof *stream);
    stream->base.device = base;
    stream->id = atomic_fetch_add(&device->last_stream, 1) + 1;
    TRY_OUT(gemm_scratch_open(&stream->gemm_scratch, device->gemms));
    TRY_OUT(queue_open(&stream->queue, &(struct queue_options){ .start = start_worker,
                                                                .run = run_item,
                                                                .context = stream,
                                                                .spin_ns = device->spin_ns,
                                                                .doorbell = device->doorbell,
                                                                .wait_begin = device->wait_begin,
                                                                .wait_end = device->wait_end }));
    pthread_mutex_init(&stream->staging_lock, NULL);
    pthread_rwlock_wrlock(&device->streams_lock);
    stream->next = device->streams;
    device->streams = stream;
    pthread_rwlock_unlock(&device->streams_lock);
    *result = &stream->base;

out:
    call_end(device, &call, "cudaStreamCreateWithFlags");
    if (status != STATUS_OK && stream != NULL) {
        gemm_scratch_close(stream->gemm_scratch);
        free(stream);
    }
    return status;
}

void cpu_stream_destroy(struct stream *base)
{
    struct cpu_stream *stream = (struct cpu_stream *)base;
    struct cpu_device *device = (struct cpu_device *)base->device;
    struct call call = call_begin(device);

    /* Its work is done before anything that the work uses goes; and no thread that waits for all
     * streams may still find it when its queue closes. */
    cpu_capture_abandon(stream);
    queue_wait(stream->queue, queue_submitted(stream->queue));
    cpu_memory_forget_stream(device->memory, stream);
    pthread_rwlock_wrlock(&device->streams_lock);
    for (struct cpu_stream **link = &device->streams; *link != NULL; link = &(*link)->next)
        if (*link == stream) {
            *link = stream->next;
            break;
        }
    pthread_rwlock_unlock(&device->streams_lock);
    queue_close(stream->queue);
    gemm_scratch_close(stream->gemm_scratch);
    pthread_mutex_destroy(&stream->staging_lock);
    free(stream->staging);
    free(stream);
    call_end(device, &call, "cudaStreamDestroy");
}

/* Relaxed, here and in stream_submit(): the thread that captures stored the pointer itself, and to
 * any other thread only matters whether there is one; capture_allows() then compares the
 * threads. */
enum status stream_claim(struct cpu_stream *stream, struct item **item)
{
    if (atomic_load_explicit(&stream->capture, memory_order_relaxed) != NULL)
        return cpu_capture_claim(stream, item);
    *item = queue_claim(stream->queue);
    return STATUS_OK;
}

uint64_t stream_submit(struct cpu_stream *stream)
{
    if (atomic_load_explicit(&stream->capture, memory_order_relaxed) == NULL)
        return queue_submit(stream->queue);
    cpu_capture_submit(stream);
    return 0;
}

enum status cpu_stream_synchronize(struct stream *base)
{
    enum status status = STATUS_OK;
    struct cpu_stream *stream = (struct cpu_stream *)base;
    struct cpu_device *device = (struct cpu_device *)base->device;
    struct call call = call_begin(device);

    TRY_OUT(capture_forbids(&stream->capture, "synchronising the stream"));
    queue_wait(stream->queue, queue_submitted(stream->queue));
    status = device_failure(device);

out:
    call_end_waiting(device, &call, "cudaStreamSynchronize", "Stream Synchronize", stream);
    return status;
}

void device_wait_all(struct cpu_device *device)
{
    pthread_rwlock_rdlock(&device->streams_lock);
    for (struct cpu_stream *stream = device->streams; stream != NULL; stream = stream->next)
        queue_wait(stream->queue, queue_submitted(stream->queue));
    pthread_rwlock_unlock(&device->streams_lock);
}

enum status cpu_synchronize(struct device *base)
{
    enum status status = STATUS_OK;
    struct cpu_device *device = (struct cpu_device *)base;
    struct call call = call_begin(device);

    TRY_OUT(capture_forbids_thread("synchronising the device"));
    device_wait_all(device);
    status = device_failure(device);

out:
    call_end_waiting(device, &call, "cudaDeviceSynchronize", "Context Synchronize", NULL);
    return status;
}
