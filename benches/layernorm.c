/* How fast N rows of 512 elements are normalised. */
#include "benches/operand.h"

#include <math.h>

enum { WIDTH = 512 };

struct own {
    struct operand y, x, weight, bias, mean, rstd;
};

static enum status run(struct bench_work *work, int64_t iterations)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;

    for (int64_t i = 0; i < iterations; i++) {
        int64_t copy = operands_next(work);
        TRY(LAUNCH(work->stream, work->bench->dtype, layernorm_forward, work->argument,
                   .y = operand_at(&own->y, copy), .mean = operand_at(&own->mean, copy),
                   .rstd = operand_at(&own->rstd, copy), .x = operand_at(&own->x, copy),
                   .weight = operand_at(&own->weight, copy), .bias = operand_at(&own->bias, copy),
                   .width = WIDTH));
    }
    TRY(stream_synchronize(work->stream));

out:
    return status;
}

/* (x - mean) / sqrt(variance + 1e-5) * weight + bias (Ba, Kiros, Hinton: "Layer normalization", 2016),
 * in double precision. */
static enum status check_row(const struct own *own, int64_t row)
{
    enum status status = STATUS_OK;
    double mean = 0, variance = 0;

    for (int64_t i = 0; i < WIDTH; i++) mean += operand_value(&own->x, row * WIDTH + i) / WIDTH;
    for (int64_t i = 0; i < WIDTH; i++)
        variance += pow(operand_value(&own->x, row * WIDTH + i) - mean, 2) / WIDTH;
    for (int64_t i = 0; i < WIDTH; i++) {
        double normal = (operand_value(&own->x, row * WIDTH + i) - mean) / sqrt(variance + 1e-5);
        TRY(operand_check(&own->y, "layernorm", row * WIDTH + i,
                          normal * operand_value(&own->weight, i) + operand_value(&own->bias, i),
                          1e-5));
    }

out:
    return status;
}

static enum status set_up(struct bench_work *work)
{
    enum { FLOPS = 8 }; /* an element: 3 for mean and variance, 5 for the result */
    enum status status = STATUS_OK;
    struct own *own = work->own;
    enum dtype dtype = work->bench->dtype;
    int64_t elements = work->argument * WIDTH;

    work->bytes =
        2 * elements * (int64_t)dtype_bytes(dtype) + 2 * work->argument * (int64_t)sizeof(float);
    work->flops = FLOPS * elements;
    operands_rotate(work, work->bytes);
    TRY(operand_open(&own->y, work, dtype, elements));
    TRY(operand_open(&own->x, work, dtype, elements));
    TRY(operand_open(&own->weight, work, dtype, WIDTH));
    TRY(operand_open(&own->bias, work, dtype, WIDTH));
    TRY(operand_open(&own->mean, work, DTYPE_F32, work->argument));
    TRY(operand_open(&own->rstd, work, DTYPE_F32, work->argument));
    TRY(run(work, 1));
    TRY(operand_read(&own->y, work));
    for (int64_t i = 0; i < work->argument; i += operand_check_step(elements))
        TRY(check_row(own, i));
    TRY(check_row(own, work->argument - 1));

out:
    return status;
}

BENCH_KERNEL(layernorm, .text = "N rows of 512 elements normalised, one read and one write of each",
             .arguments = { 32, 2048 }, .arguments_large = { 128, 8192, 1 << 17 },
             .own_bytes = sizeof(struct own), .set_up = set_up, .run = run);
