/* How fast a residual connection adds two tensors of N elements: bound by memory everywhere. */
#include "benches/operand.h"

struct own {
    struct operand y, a, b;
};

static enum status run(struct bench_work *work, int64_t iterations)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;

    for (int64_t i = 0; i < iterations; i++) {
        int64_t copy = operands_next(work);
        TRY(LAUNCH(work->stream, work->bench->dtype, residual_add, work->argument,
                   .y = operand_at(&own->y, copy), .a = operand_at(&own->a, copy),
                   .b = operand_at(&own->b, copy)));
    }
    TRY(stream_synchronize(work->stream));

out:
    return status;
}

static enum status set_up(struct bench_work *work)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;
    enum dtype dtype = work->bench->dtype;

    work->bytes = 3 * work->argument * (int64_t)dtype_bytes(dtype);
    work->flops = work->argument;
    operands_rotate(work, work->bytes);
    TRY(operand_open(&own->y, work, dtype, work->argument));
    TRY(operand_open(&own->a, work, dtype, work->argument));
    TRY(operand_open(&own->b, work, dtype, work->argument));
    TRY(run(work, 1));
    TRY(operand_read(&own->y, work));
    for (int64_t i = 0; i < work->argument; i += operand_check_step(work->argument))
        TRY(operand_check(&own->y, "residual", i,
                          operand_value(&own->a, i) + operand_value(&own->b, i), 0));

out:
    return status;
}

BENCH_KERNEL(residual,
             .text = "the sum of two tensors of N elements: two reads and a write of each",
             .arguments = { 1 << 14, 1 << 20 }, .arguments_large = { 1 << 16, 1 << 22, 1 << 26 },
             .own_bytes = sizeof(struct own), .set_up = set_up, .run = run);
