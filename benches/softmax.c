/* How fast the softmax of N rows of 256 elements is, as attention takes it. */
#include "benches/tensor.h"

#include <math.h>

enum { WIDTH = 256 };
#define SCALE 0.125f

struct own {
    struct tensor y, x;
};

static enum status run(struct bench_work *work, int64_t iterations)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;

    for (int64_t i = 0; i < iterations; i++)
        TRY(LAUNCH(work->stream, DTYPE_F32, softmax_forward, work->argument, .y = own->y.device,
                   .x = own->x.device, .lengths = NULL, .scale = SCALE, .width = WIDTH, .heads = 1,
                   .tokens = WIDTH));
    TRY(stream_synchronize(work->stream));

out:
    return status;
}

/* exp(scale x) over the row's sum of them, in double precision. */
static enum status check_row(const struct own *own, int64_t row)
{
    enum status status = STATUS_OK;
    const float *x = own->x.host + row * WIDTH, *y = own->y.host + row * WIDTH;
    double sum = 0;

    for (int i = 0; i < WIDTH; i++) sum += exp((double)SCALE * (double)x[i]);
    for (int i = 0; i < WIDTH; i++)
        TRY(tensor_check("softmax", row * WIDTH + i, (double)y[i],
                         exp((double)SCALE * (double)x[i]) / sum, 1e-5 / WIDTH));

out:
    return status;
}

static enum status set_up(struct bench_work *work)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;

    TRY(tensor_open(&own->y, work, work->argument * WIDTH));
    TRY(tensor_open(&own->x, work, work->argument * WIDTH));
    TRY(run(work, 1));
    TRY(tensor_read(&own->y, work));
    TRY(check_row(own, 0));
    TRY(check_row(own, random_below(&work->random, (uint32_t)work->argument)));
    TRY(check_row(own, work->argument - 1));
    work->bytes = 2 * work->argument * WIDTH * (int64_t)sizeof(float);

out:
    return status;
}

static void tear_down(struct bench_work *work)
{
    struct own *own = work->own;

    tensor_release(&own->y, work);
    tensor_release(&own->x, work);
}

const struct bench bench_softmax = {
    .name = "softmax",
    .text = "softmax of N rows of 256 fp32 elements, one read and one write of each",
    .arguments = { 256, 16384 },
    .own_bytes = sizeof(struct own),
    .set_up = set_up,
    .run = run,
    .tear_down = tear_down,
};
