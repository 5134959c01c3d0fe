/* How fast the softmax of N rows of 256 elements is, as attention takes it. */
#include "benches/operand.h"

#include <math.h>

enum { WIDTH = 256 };
#define SCALE 0.125f

struct own {
    struct operand y, x;
};

static enum status run(struct bench_work *work, int64_t iterations)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;

    for (int64_t i = 0; i < iterations; i++) {
        int64_t copy = operands_next(work);
        TRY(LAUNCH(work->stream, work->bench->dtype, softmax_forward, work->argument,
                   .y = operand_at(&own->y, copy), .x = operand_at(&own->x, copy), .lengths = NULL,
                   .scale = SCALE, .width = WIDTH, .heads = 1, .tokens = WIDTH));
    }
    TRY(stream_synchronize(work->stream));

out:
    return status;
}

/* exp(scale x) over the row's sum of them, in double precision. */
static enum status check_row(const struct own *own, int64_t row)
{
    enum status status = STATUS_OK;
    double sum = 0;

    for (int64_t i = 0; i < WIDTH; i++)
        sum += exp((double)SCALE * operand_value(&own->x, row * WIDTH + i));
    for (int64_t i = 0; i < WIDTH; i++) {
        int64_t at = row * WIDTH + i;
        TRY(operand_check(&own->y, "softmax", at,
                          exp((double)SCALE * operand_value(&own->x, at)) / sum, 1e-5 / WIDTH));
    }

out:
    return status;
}

static enum status set_up(struct bench_work *work)
{
    enum { FLOPS = 9 }; /* an element: 7 and two exponentials (attention.kernel.c) */
    enum status status = STATUS_OK;
    struct own *own = work->own;
    enum dtype dtype = work->bench->dtype;

    work->bytes = 2 * work->argument * WIDTH * (int64_t)dtype_bytes(dtype);
    work->flops = FLOPS * work->argument * WIDTH;
    operands_rotate(work, work->bytes);
    TRY(operand_open(&own->y, work, dtype, work->argument * WIDTH));
    TRY(operand_open(&own->x, work, dtype, work->argument * WIDTH));
    TRY(run(work, 1));
    TRY(operand_read(&own->y, work));
    for (int64_t i = 0; i < work->argument; i += operand_check_step(work->argument * WIDTH))
        TRY(check_row(own, i));
    TRY(check_row(own, work->argument - 1));

out:
    return status;
}

BENCH_KERNEL(softmax, .text = "softmax of N rows of 256 elements, one read and one write of each",
             .arguments = { 64, 4096 }, .arguments_large = { 256, 16384, 1 << 18 },
             .own_bytes = sizeof(struct own), .set_up = set_up, .run = run);
