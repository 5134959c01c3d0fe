/* Events. A record gets the event's next number when it is made; the event has been reached as far
 * as the largest number that a worker came by, so a later record replaces an earlier one even when
 * the two are in different streams. A wait is for the number that was last when the wait began.
 *
 * An event lives until it is destroyed and no item that names it is queued any more. */
#include "harness/base/clock.h"
#include "harness/device/cpu/cpu.h"
#include "harness/device/cpu/queue/cpu_progress.h"

#include <stdlib.h>

struct cpu_event {
    struct event base;
    _Atomic int references; /* the user's, and one per queued item */
    _Atomic uint64_t recorded;
    pthread_mutex_t lock; /* of time_ns, and among those who advance `reached` */
    int64_t time_ns;      /* when the record `reached` was reached */
    struct cpu_progress reached;
};

/* The number of a record that is a graph's node: each launch takes the next one. The node holds no
 * reference, because the event outlives the graph. */
enum { NUMBER_OF_NODE = 0 };

static void release_event(struct cpu_event *event)
{
    if (atomic_fetch_sub(&event->references, 1) != 1)
        return;
    pthread_mutex_destroy(&event->lock);
    free(event);
}

/* Time and number change together under the lock, so that a reader never gets the time of
 * another record. */
static enum status run_record(struct cpu_stream *stream, const struct item *item)
{
    struct cpu_event *event = item->event.event;
    uint64_t number = item->event.number;

    (void)stream;
    if (number == NUMBER_OF_NODE)
        number = atomic_fetch_add(&event->recorded, 1) + 1;
    pthread_mutex_lock(&event->lock);
    if (number > cpu_progress_value(&event->reached)) {
        if (event->base.timing)
            event->time_ns = clock_ns();
        cpu_progress_set(&event->reached, number);
    }
    pthread_mutex_unlock(&event->lock);
    cpu_progress_wake(&event->reached);
    if (item->event.number != NUMBER_OF_NODE)
        release_event(event);
    return STATUS_OK;
}

static enum status run_wait(struct cpu_stream *stream, const struct item *item)
{
    struct cpu_device *device = (struct cpu_device *)stream->base.device;

    cpu_progress_await(&item->event.event->reached, item->event.number, device->spin_ns);
    release_event(item->event.event);
    return STATUS_OK;
}

static const struct cpu_work record_work = { .run = run_record, .bookkeeping = true };
static const struct cpu_work wait_work = { .run = run_wait, .bookkeeping = true };

/* Goes straight into the queue, whether the stream is being captured or not. */
static void put_item(const struct cpu_work *work, struct cpu_event *event, uint64_t number,
                     struct cpu_stream *stream, uint32_t correlation)
{
    struct item *item = queue_claim(stream->queue);

    atomic_fetch_add(&event->references, 1);
    item->work = work;
    item->correlation = correlation;
    item->event.event = event;
    item->event.number = number;
    queue_submit(stream->queue);
}

void event_put_record(struct cpu_event *event, struct cpu_stream *stream, uint32_t correlation)
{
    put_item(&record_work, event, atomic_fetch_add(&event->recorded, 1) + 1, stream, correlation);
}

void event_put_wait(struct cpu_event *event, struct cpu_stream *stream, uint32_t correlation)
{
    uint64_t number = atomic_load(&event->recorded);

    if (number > cpu_progress_value(&event->reached))
        put_item(&wait_work, event, number, stream, correlation);
}

enum status cpu_event_create(struct device *device, bool timing, struct event **result)
{
    enum status status = STATUS_OK;
    struct call call = call_begin((struct cpu_device *)device);
    struct cpu_event *event = calloc(1, sizeof *event);

    if (event == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory for an event (%zu bytes)", sizeof *event);
    event->base.device = device;
    event->base.timing = timing;
    atomic_init(&event->references, 1);
    pthread_mutex_init(&event->lock, NULL);
    *result = &event->base;

out:
    call_end((struct cpu_device *)device, &call, "cudaEventCreateWithFlags");
    return status;
}

void cpu_event_destroy(struct event *event)
{
    struct cpu_device *device = (struct cpu_device *)event->device;
    struct call call = call_begin(device);

    release_event((struct cpu_event *)event);
    call_end(device, &call, "cudaEventDestroy");
}

enum status cpu_event_record(struct event *event, struct stream *base)
{
    enum status status = STATUS_OK;
    struct cpu_stream *stream = (struct cpu_stream *)base;
    struct cpu_device *device = (struct cpu_device *)base->device;
    struct call call = call_begin(device);
    struct item *item;

    /* Relaxed, as in stream_claim(). */
    if (atomic_load_explicit(&stream->capture, memory_order_relaxed) == NULL) {
        event_put_record((struct cpu_event *)event, stream, call.correlation);
        goto out;
    }
    TRY_OUT(cpu_capture_claim(stream, &item));
    item->work = &record_work;
    item->event.event = (struct cpu_event *)event;
    item->event.number = NUMBER_OF_NODE;
    cpu_capture_submit(stream);

out:
    call_end(device, &call, "cudaEventRecord");
    return status;
}

enum status cpu_stream_wait_event(struct stream *base, struct event *event)
{
    enum status status = STATUS_OK;
    struct cpu_stream *stream = (struct cpu_stream *)base;
    struct cpu_device *device = (struct cpu_device *)base->device;
    struct call call = call_begin(device);

    TRY_OUT(capture_forbids(&stream->capture, "making the stream wait for an event"));
    event_put_wait((struct cpu_event *)event, stream, call.correlation);

out:
    call_end(device, &call, "cudaStreamWaitEvent");
    return status;
}

enum status cpu_event_synchronize(struct event *base)
{
    struct cpu_event *event = (struct cpu_event *)base;
    struct cpu_device *device = (struct cpu_device *)base->device;
    struct call call = call_begin(device);

    cpu_progress_await(&event->reached, atomic_load(&event->recorded), device->spin_ns);
    call_end_waiting(device, &call, "cudaEventSynchronize", "Event Synchronize", NULL);
    return device_failure(device);
}

enum status cpu_event_query(struct event *base)
{
    struct cpu_event *event = (struct cpu_event *)base;
    struct cpu_device *device = (struct cpu_device *)base->device;
    struct call call = call_begin(device);
    bool ready = cpu_progress_value(&event->reached) >= atomic_load(&event->recorded);

    call_end(device, &call, "cudaEventQuery");
    return ready ? device_failure(device) : STATUS_NOT_READY;
}

/* When the last record was reached. */
static enum status time_of(struct cpu_event *event, int64_t *time_ns)
{
    uint64_t recorded = atomic_load(&event->recorded);
    bool ready;

    if (recorded == 0)
        FAIL(STATUS_BAD_USAGE, "event_elapsed: one of the events was never recorded");
    pthread_mutex_lock(&event->lock);
    ready = cpu_progress_value(&event->reached) >= recorded;
    *time_ns = event->time_ns;
    pthread_mutex_unlock(&event->lock);
    if (!ready)
        FAIL(STATUS_NOT_READY,
             "event_elapsed: the later event is not done yet; synchronise with it first");

    return STATUS_OK;
}

enum status cpu_event_elapsed(struct event *from, struct event *to, double *elapsed_ns)
{
    int64_t from_ns = 0, to_ns = 0;

    TRY(time_of((struct cpu_event *)from, &from_ns));
    TRY(time_of((struct cpu_event *)to, &to_ns));
    *elapsed_ns = (double)(to_ns - from_ns);

    return STATUS_OK;
}
