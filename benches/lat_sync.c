/* The cost of waiting for the device: for a stream, an event, or all of it; by asking again and
 * again instead of a call that may put the thread to sleep; and by reading a number that a kernel
 * has just written, such as a loss.
 *
 * An iteration launches a kernel and waits for it; that of lat_event only records an event on an
 * idle stream and waits for it. A short kernel is done or nearly done when the wait begins. A long
 * one outlasts the time for which waits spin, so what blocking costs more than asking is the time
 * to fall asleep and to be woken. */
#include "benches/parts/tiny_kernel.h"

enum way { WAIT_STREAM, WAIT_EVENT, WAIT_DEVICE, WAIT_SPIN, WAIT_READBACK, WAIT_IDLE };

struct own {
    struct event *event;
    struct tiny_kernel kernel;
    float read; /* WAIT_READBACK only */
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
    const struct own *own = work->own;

    TRY(event_record(own->event, work->stream));
    return event_synchronize(own->event);
}

static enum status wait_spin(struct bench_work *work)
{
    enum status status = STATUS_OK;
    const struct own *own = work->own;

    TRY_OUT(event_record(own->event, work->stream));
    while ((status = event_query(own->event)) == STATUS_NOT_READY) continue;

out:
    return status;
}

static enum status wait_readback(struct bench_work *work)
{
    struct own *own = work->own;

    return device_copy(work->stream, COPY_DEVICE_TO_HOST, &own->read, own->kernel.sum.device,
                       sizeof own->read);
}

static const struct {
    enum status (*wait)(struct bench_work *work);
    int64_t elements; /* of the kernel of a bench without an argument */
} ways[] = {
    [WAIT_STREAM] = { wait_stream, 0 },
    [WAIT_EVENT] = { wait_event, 0 },
    [WAIT_DEVICE] = { wait_device, 0 },
    [WAIT_SPIN] = { wait_spin, 0 },
    [WAIT_READBACK] = { wait_readback, ROW_MULTIPLE },
    [WAIT_IDLE] = { wait_event, 1 << 16 },
};

static enum status sync_run(struct bench_work *work, int64_t iterations)
{
    struct own *own = work->own;

    for (int64_t i = 0; i < iterations && !*work->stop; i++) {
        TRY(tiny_kernel_launch(&own->kernel, work));
        TRY(ways[work->bench->variant].wait(work));
    }

    return STATUS_OK;
}

static enum status run_idle(struct bench_work *work, int64_t iterations)
{
    for (int64_t i = 0; i < iterations && !*work->stop; i++) TRY(wait_event(work));

    return STATUS_OK;
}

/* After each wait the stream has nothing left to do. */
static enum status sync_set_up(struct bench_work *work)
{
    enum { LAUNCHES = 3 };
    struct own *own = work->own;
    int64_t elements = ways[work->bench->variant].elements;

    TRY(event_create(work->device, false, &own->event));
    TRY(tiny_kernel_open(&own->kernel, work, elements > 0 ? elements : work->argument));
    for (int i = 0; i < LAUNCHES; i++) {
        TRY(tiny_kernel_launch(&own->kernel, work));
        TRY(event_record(own->event, work->stream));
        TRY(ways[work->bench->variant].wait(work));
        /* The event lies behind the kernel, so it is reached if the wait has done its work. */
        if (event_query(own->event) != STATUS_OK)
            FAIL(STATUS_INTERNAL, "%s returned before the work was done", work->bench->name);
    }
    TRY(tiny_kernel_check(&own->kernel, work, LAUNCHES));
    if (work->bench->variant == WAIT_READBACK)
        TRY(value_check("a number that was read back", 0, (double)own->read,
                        operand_value(&own->kernel.sum, 0), 0));

    return STATUS_OK;
}

static void sync_tear_down(struct bench_work *work)
{
    const struct own *own = work->own;

    event_destroy(own->event);
}

#define LAT_WAIT(name_, text_, way, run_, ...)                                                     \
    const struct bench bench_##name_ = { .name = #name_,                                           \
                                         .text = text_,                                            \
                                         .variant = way,                                           \
                                         .own_bytes = sizeof(struct own),                          \
                                         .set_up = sync_set_up,                                    \
                                         .run = run_,                                              \
                                         .tear_down = sync_tear_down,                              \
                                         __VA_ARGS__ }
#define LAT_SYNC(name, text, way)                                                                  \
    LAT_WAIT(lat_sync_##name, text, way, sync_run, .arguments = { ROW_MULTIPLE, 1 << 18 },         \
             .arguments_large = { ROW_MULTIPLE, 1 << 25 })

LAT_SYNC(stream, "a kernel of N elements and the wait for its stream", WAIT_STREAM);
LAT_SYNC(event, "a kernel of N elements and the wait for an event behind it", WAIT_EVENT);
LAT_SYNC(device, "a kernel of N elements and the wait for the device", WAIT_DEVICE);
LAT_SYNC(spin, "a kernel of N elements and an event behind it, asked until it is done", WAIT_SPIN);
LAT_WAIT(lat_event, "one event recorded on an idle stream, and the wait for it", WAIT_IDLE,
         run_idle, .arguments = { 0 });
LAT_WAIT(lat_readback, "one launch of a tiny kernel, and a blocking copy of 4 bytes of its result",
         WAIT_READBACK, sync_run, .arguments = { 0 });
