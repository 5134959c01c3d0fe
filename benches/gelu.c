/* How fast GELU runs over N elements: bound by memory on GPUs, by arithmetic on CPUs. */
#include "benches/operand.h"

#include <math.h>

struct own {
    struct operand y, x;
};

static enum status run(struct bench_work *work, int64_t iterations)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;

    for (int64_t i = 0; i < iterations; i++) {
        int64_t copy = operands_next(work);
        TRY(LAUNCH(work->stream, work->bench->dtype, gelu_forward, work->argument,
                   .y = operand_at(&own->y, copy), .x = operand_at(&own->x, copy)));
    }
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
    enum { FLOPS = 8 }; /* an element: 6, an exponential and a division (gelu.kernel.c) */
    enum status status = STATUS_OK;
    struct own *own = work->own;
    enum dtype dtype = work->bench->dtype;

    work->bytes = 2 * work->argument * (int64_t)dtype_bytes(dtype);
    work->flops = FLOPS * work->argument;
    operands_rotate(work, work->bytes);
    TRY(operand_open(&own->y, work, dtype, work->argument));
    TRY(operand_open(&own->x, work, dtype, work->argument));
    TRY(run(work, 1));
    TRY(operand_read(&own->y, work));
    for (int64_t i = 0; i < work->argument; i += operand_check_step(work->argument))
        TRY(operand_check(&own->y, "GELU", i, gelu(operand_value(&own->x, i)), 1e-5));

out:
    return status;
}

BENCH_KERNEL(gelu, .text = "GELU of N elements, one read and one write of each",
             .arguments = { 1 << 14, 1 << 20 }, .arguments_large = { 1 << 16, 1 << 22, 1 << 26 },
             .own_bytes = sizeof(struct own), .set_up = set_up, .run = run);
