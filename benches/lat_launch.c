/* The cost of launching a kernel, in four parts.
 *
 * - enqueue: the host's part, the call, on a queue that has room
 * - start: from the call on an idle stream until the host sees the kernel's first result
 * - sync: from the call until a wait for the stream returns
 * - back_to_back: queued without waiting, which takes the larger of the host's and the device's
 *   time for each; a shorter kernel is not worth a launch
 *
 * A start is seen in pinned host memory, which kernels can write on every device: host and device
 * have no clock in common. On a GPU the write's way over the bus is part of it. */
#include "benches/parts/tiny_kernel.h"

#include "harness/base/clock.h"

struct own {
    struct tiny_kernel kernel;
    float *seen; /* pinned; start only */
    int32_t starts;
};

/* As many launches as every queue has room for. */
static enum status run_enqueue(struct bench_work *work, int64_t iterations)
{
    enum { ROOM = 64 };
    struct own *own = work->own;

    for (int64_t done = 0; done < iterations && !*work->stop;) {
        int64_t group = iterations - done < ROOM ? iterations - done : ROOM, begin = clock_ns();
        for (int64_t i = 0; i < group; i++) TRY(tiny_kernel_launch(&own->kernel, work));
        work->timed_ns += clock_ns() - begin;
        TRY(stream_synchronize(work->stream));
        done += group;
    }

    return STATUS_OK;
}

/* The value of a number that the device writes meanwhile. Volatile: read anew each time. */
static float look(const float *number)
{
    return *(const volatile float *)number;
}

static enum status run_start(struct bench_work *work, int64_t iterations)
{
    enum { STARTS_MOST = 1 << 24 }; /* the integers that a float counts */
    struct own *own = work->own;

    for (int64_t i = 0; i < iterations && !*work->stop; i++) {
        int64_t begin;
        float value;
        own->starts = own->starts < STARTS_MOST ? own->starts + 1 : 1;
        /* Another number each time, so that an old result is not taken for the new one. */
        value = (float)own->starts;
        begin = clock_ns();
        TRY(LAUNCH(work->stream, DTYPE_F32, fill, ROW_MULTIPLE, .y = own->seen, .value = value));
        /* A kernel that fails never writes its number: after a while the stream is asked. */
        const int64_t patience_ns = 100000000;
        while (look(own->seen) != value) {
            if (clock_ns() - begin <= patience_ns)
                continue;
            TRY(stream_synchronize(work->stream));
            if (look(own->seen) != value)
                FAIL(STATUS_INTERNAL, "a kernel is done, and its result is not seen");
        }
        work->timed_ns += clock_ns() - begin;
        TRY(stream_synchronize(work->stream));
    }

    return STATUS_OK;
}

static enum status run_sync(struct bench_work *work, int64_t iterations)
{
    struct own *own = work->own;

    for (int64_t i = 0; i < iterations && !*work->stop; i++) {
        TRY(tiny_kernel_launch(&own->kernel, work));
        TRY(stream_synchronize(work->stream));
    }

    return STATUS_OK;
}

static enum status run_back_to_back(struct bench_work *work, int64_t iterations)
{
    struct own *own = work->own;

    for (int64_t i = 0; i < iterations && !*work->stop; i++)
        TRY(tiny_kernel_launch(&own->kernel, work));
    return stream_synchronize(work->stream);
}

static enum status launch_set_up(struct bench_work *work)
{
    enum { LAUNCHES = 100 };
    struct own *own = work->own;

    TRY(tiny_kernel_open(&own->kernel, work, ROW_MULTIPLE));
    TRY(work->bench->run(work, LAUNCHES));
    TRY(tiny_kernel_check(&own->kernel, work, LAUNCHES));
    work->items = 1;

    return STATUS_OK;
}

/* The check is that the number is seen at all. */
static enum status set_up_start(struct bench_work *work)
{
    struct own *own = work->own;
    void *seen;

    TRY(bench_alloc(work, BENCH_PINNED, ROW_MULTIPLE * sizeof(float), &seen));
    own->seen = seen;
    own->seen[0] = 0;
    TRY(run_start(work, 1));
    for (int64_t i = 0; i < ROW_MULTIPLE; i++)
        TRY(value_check("a launch", i, (double)look(own->seen + i), (double)own->starts, 0));

    return STATUS_OK;
}

#define LAT_LAUNCH(name_, text_, set_up_, manual)                                                  \
    const struct bench bench_lat_launch_##name_ = {                                                \
        .name = "lat_launch_" #name_,                                                              \
        .text = text_,                                                                             \
        .manual_time = manual,                                                                     \
        .own_bytes = sizeof(struct own),                                                           \
        .set_up = set_up_,                                                                         \
        .run = run_##name_,                                                                        \
    }

LAT_LAUNCH(enqueue, "the call that launches a tiny kernel: host time only", launch_set_up, true);
LAT_LAUNCH(start, "from a launch on an idle stream until its result is in the host's memory",
           set_up_start, true);
LAT_LAUNCH(sync, "a launch of a tiny kernel and the wait for the stream", launch_set_up, false);
LAT_LAUNCH(back_to_back, "a launch of a tiny kernel, queued without waiting", launch_set_up, false);
