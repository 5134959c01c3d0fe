/* How fast GELU runs over N elements: bound by memory on GPUs, by arithmetic on CPUs. */
#include "benches/tensor.h"

#include <math.h>

struct own {
    struct tensor y, x;
};

static enum status run(struct bench_work *work, int64_t iterations)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;

    for (int64_t i = 0; i < iterations; i++)
        TRY(LAUNCH(work->stream, DTYPE_F32, gelu_forward, work->argument, .y = own->y.device,
                   .x = own->x.device));
    TRY(stream_synchronize(work->stream));

out:
    return status;
}

/* The tanh form (Hendrycks, Gimpel: "Gaussian error linear units", 2016). */
static double gelu(double x)
{
    return x / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

static enum status set_up(struct bench_work *work)
{
    enum { SAMPLES = 4096 };
    enum status status = STATUS_OK;
    struct own *own = work->own;

    TRY(tensor_open(&own->y, work, work->argument));
    TRY(tensor_open(&own->x, work, work->argument));
    TRY(run(work, 1));
    TRY(tensor_read(&own->y, work));
    for (int i = 0; i < SAMPLES; i++) {
        int64_t at = random_below(&work->random, (uint32_t)work->argument);
        TRY(tensor_check("GELU", at, (double)own->y.host[at], gelu((double)own->x.host[at]), 1e-5));
    }
    work->bytes = 2 * work->argument * (int64_t)sizeof(float);

out:
    return status;
}

static void tear_down(struct bench_work *work)
{
    struct own *own = work->own;

    tensor_release(&own->y, work);
    tensor_release(&own->x, work);
}

const struct bench bench_gelu = {
    .name = "gelu",
    .text = "GELU of N fp32 elements, one read and one write of each",
    .arguments = { 1 << 16, 1 << 22 },
    .own_bytes = sizeof(struct own),
    .set_up = set_up,
    .run = run,
    .tear_down = tear_down,
};
