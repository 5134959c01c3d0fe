/* What it costs to record an event and wait for it. */
#include "benches/tiny_kernel.h"

struct own {
    struct event *event;
    struct tiny_kernel kernel;
};

static enum status run(struct bench_work *work, int64_t iterations)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;

    for (int64_t i = 0; i < iterations; i++) {
        TRY(event_record(own->event, work->stream));
        TRY(event_synchronize(own->event));
    }

out:
    return status;
}

/* An event that was waited for is one behind which all earlier work is done. */
static enum status set_up(struct bench_work *work)
{
    enum { ELEMENTS = 1 << 16 };
    enum status status = STATUS_OK;
    struct own *own = work->own;

    TRY(event_create(work->device, false, &own->event));
    TRY(tiny_kernel_open(&own->kernel, work, ELEMENTS));
    TRY(tiny_kernel_launch(&own->kernel, work));
    TRY(run(work, 1));
    if (event_query(own->event) != STATUS_OK)
        FAIL(STATUS_INTERNAL, "an event that was waited for is not done");
    TRY(tiny_kernel_check(&own->kernel, work, 1));

out:
    return status;
}

static void tear_down(struct bench_work *work)
{
    struct own *own = work->own;

    event_destroy(own->event);
}

const struct bench bench_lat_event = {
    .name = "lat_event",
    .text = "one event recorded on an idle stream, and the wait for it",
    .own_bytes = sizeof(struct own),
    .set_up = set_up,
    .run = run,
    .tear_down = tear_down,
};
