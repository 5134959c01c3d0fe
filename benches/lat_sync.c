/* What it costs to wait for the device: for a stream, an event, or all of it, and by asking again and
 * again instead of a call that may put the thread to sleep.
 *
 * An iteration launches a kernel of N elements and waits for it. For a short one every wait finds it done
 * or nearly so; a long one outlasts the time for which waits spin, so what blocking costs more than
 * asking is falling asleep and being woken. */
#include "benches/tiny_kernel.h"

enum way { WAIT_STREAM, WAIT_EVENT, WAIT_DEVICE, WAIT_SPIN };

struct own {
    struct event *event;
    struct tiny_kernel kernel;
};

static enum status wait_stream(struct bench_work *work)
{
    return stream_synchronize(work->stream);
}

static enum status wait_device(struct bench_work *work)
{
    return device_synchronize(work->device);
}

static enum status wait_event(struct bench_work *work)
{
    enum status status = STATUS_OK;
    const struct own *own = work->own;

    TRY(event_record(own->event, work->stream));
    TRY(event_synchronize(own->event));

out:
    return status;
}

static enum status wait_spin(struct bench_work *work)
{
    enum status status = STATUS_OK;
    const struct own *own = work->own;

    TRY(event_record(own->event, work->stream));
    while ((status = event_query(own->event)) == STATUS_NOT_READY) continue;

out:
    return status;
}

static enum status (*const waits[])(struct bench_work *work) = {
    [WAIT_STREAM] = wait_stream,
    [WAIT_EVENT] = wait_event,
    [WAIT_DEVICE] = wait_device,
    [WAIT_SPIN] = wait_spin,
};

static enum status run(struct bench_work *work, int64_t iterations)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;

    for (int64_t i = 0; i < iterations; i++) {
        TRY(tiny_kernel_launch(&own->kernel, work));
        TRY(waits[work->bench->variant](work));
    }

out:
    return status;
}

/* Behind each wait the stream has nothing left to do. */
static enum status set_up(struct bench_work *work)
{
    enum { LAUNCHES = 3 };
    enum status status = STATUS_OK;
    struct own *own = work->own;

    TRY(event_create(work->device, false, &own->event));
    TRY(tiny_kernel_open(&own->kernel, work, work->argument));
    for (int i = 0; i < LAUNCHES; i++) {
        TRY(tiny_kernel_launch(&own->kernel, work));
        TRY(event_record(own->event, work->stream));
        TRY(waits[work->bench->variant](work));
        if (event_query(own->event) != STATUS_OK)
            FAIL(STATUS_INTERNAL, "%s returned before the work was done", work->bench->name);
    }
    TRY(tiny_kernel_check(&own->kernel, work, LAUNCHES));

out:
    return status;
}

static void tear_down(struct bench_work *work)
{
    struct own *own = work->own;

    event_destroy(own->event);
}

#define LAT_SYNC(name_, text_, way)                                                                \
    const struct bench bench_lat_sync_##name_ = {                                                  \
        .name = "lat_sync_" #name_,                                                                \
        .text = text_,                                                                             \
        .variant = way,                                                                            \
        .arguments = { ROW_MULTIPLE, 1 << 18 },                                                    \
        .arguments_large = { ROW_MULTIPLE, 1 << 25 },                                              \
        .own_bytes = sizeof(struct own),                                                           \
        .set_up = set_up,                                                                          \
        .run = run,                                                                                \
        .tear_down = tear_down,                                                                    \
    }

LAT_SYNC(stream, "a kernel of N elements and the wait for its stream", WAIT_STREAM);
LAT_SYNC(event, "a kernel of N elements and the wait for an event behind it", WAIT_EVENT);
LAT_SYNC(device, "a kernel of N elements and the wait for the device", WAIT_DEVICE);
LAT_SYNC(spin, "a kernel of N elements and an event behind it, asked until it is done", WAIT_SPIN);
