/* How often a kernel can be launched.
 *
 * The kernel adds 32 numbers, so what takes time is everything else: the call, the driver, the queue and
 * the start on the device. Launches are queued without waiting, so this is the larger of what the host
 * and what the device need for each: the floor under the length of a kernel that is worth launching. */
#include "benches/tensor.h"

struct own {
    struct tensor sum, term;
};

static enum status run(struct bench_work *work, int64_t iterations)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;

    for (int64_t i = 0; i < iterations; i++)
        TRY(LAUNCH(work->stream, DTYPE_F32, residual_add, ROW_MULTIPLE, .y = own->sum.device,
                   .a = own->sum.device, .b = own->term.device));
    TRY(stream_synchronize(work->stream));

out:
    return status;
}

static enum status set_up(struct bench_work *work)
{
    enum { LAUNCHES = 3 };
    enum status status = STATUS_OK;
    struct own *own = work->own;
    float before[ROW_MULTIPLE];

    TRY(tensor_open(&own->sum, work, ROW_MULTIPLE));
    TRY(tensor_open(&own->term, work, ROW_MULTIPLE));
    for (int i = 0; i < ROW_MULTIPLE; i++) before[i] = own->sum.host[i];
    TRY(run(work, LAUNCHES));
    TRY(tensor_read(&own->sum, work));
    for (int i = 0; i < ROW_MULTIPLE; i++)
        TRY(tensor_check("a launch", i, (double)own->sum.host[i],
                         (double)before[i] + LAUNCHES * (double)own->term.host[i], 1e-5));
    work->items = 1;

out:
    return status;
}

static void tear_down(struct bench_work *work)
{
    struct own *own = work->own;

    tensor_release(&own->sum, work);
    tensor_release(&own->term, work);
}

const struct bench bench_lat_launch = {
    .name = "lat_launch",
    .text = "one launch of a tiny kernel, queued without waiting",
    .own_bytes = sizeof(struct own),
    .set_up = set_up,
    .run = run,
    .tear_down = tear_down,
};
