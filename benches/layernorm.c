/* How fast N rows of 512 elements are normalised. */
#include "benches/tensor.h"

#include <math.h>

enum { WIDTH = 512 };

struct own {
    struct tensor y, x, weight, bias, mean, rstd;
};

static enum status run(struct bench_work *work, int64_t iterations)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;

    for (int64_t i = 0; i < iterations; i++)
        TRY(LAUNCH(work->stream, DTYPE_F32, layernorm_forward, work->argument, .y = own->y.device,
                   .mean = own->mean.device, .rstd = own->rstd.device, .x = own->x.device,
                   .weight = own->weight.device, .bias = own->bias.device, .width = WIDTH));
    TRY(stream_synchronize(work->stream));

out:
    return status;
}

/* (x - mean) / sqrt(variance + 1e-5) * weight + bias (Ba, Kiros, Hinton: "Layer normalization", 2016),
 * in double precision. */
static enum status check_row(const struct own *own, int64_t row)
{
    enum status status = STATUS_OK;
    const float *x = own->x.host + row * WIDTH, *y = own->y.host + row * WIDTH;
    double mean = 0, variance = 0;

    for (int i = 0; i < WIDTH; i++) mean += (double)x[i] / WIDTH;
    for (int i = 0; i < WIDTH; i++) variance += pow((double)x[i] - mean, 2) / WIDTH;
    for (int i = 0; i < WIDTH; i++)
        TRY(tensor_check("layernorm", row * WIDTH + i, (double)y[i],
                         ((double)x[i] - mean) / sqrt(variance + 1e-5) *
                                 (double)own->weight.host[i] +
                             (double)own->bias.host[i],
                         1e-5));

out:
    return status;
}

static enum status set_up(struct bench_work *work)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;

    TRY(tensor_open(&own->y, work, work->argument * WIDTH));
    TRY(tensor_open(&own->x, work, work->argument * WIDTH));
    TRY(tensor_open(&own->weight, work, WIDTH));
    TRY(tensor_open(&own->bias, work, WIDTH));
    TRY(tensor_open(&own->mean, work, work->argument));
    TRY(tensor_open(&own->rstd, work, work->argument));
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
    tensor_release(&own->weight, work);
    tensor_release(&own->bias, work);
    tensor_release(&own->mean, work);
    tensor_release(&own->rstd, work);
}

const struct bench bench_layernorm = {
    .name = "layernorm",
    .text = "N rows of 512 fp32 elements normalised, one read and one write of each",
    .arguments = { 64, 8192 },
    .own_bytes = sizeof(struct own),
    .set_up = set_up,
    .run = run,
    .tear_down = tear_down,
};
