/* How fast kernels move device memory: N elements read, written, copied, and read twice and written, as
 * STREAM's triad does (McCalpin, 1995).
 *
 * Counted is what the kernel asks for, as in STREAM. A GPU moves just that; a CPU reads a cache line
 * before it writes a part of it, so what is written is moved twice there. */
#include "benches/operand.h"

enum access { ACCESS_READ, ACCESS_WRITE, ACCESS_COPY, ACCESS_TRIAD };

enum { WIDTH = 512 }; /* elements of a row whose squares are summed */
#define SCALE 0.75f

struct own {
    struct operand y, a, b, sums;
};

static enum status launch_read(struct bench_work *work, const struct own *own, int64_t copy)
{
    return LAUNCH(work->stream, work->bench->dtype, square_sum, work->argument / WIDTH,
                  .partial = operand_at(&own->sums, copy), .x = operand_at(&own->a, copy),
                  .count = work->argument, .width = WIDTH);
}

static enum status launch_write(struct bench_work *work, const struct own *own, int64_t copy)
{
    return LAUNCH(work->stream, work->bench->dtype, fill, work->argument,
                  .y = operand_at(&own->y, copy), .value = SCALE);
}

static enum status launch_copy(struct bench_work *work, const struct own *own, int64_t copy)
{
    return LAUNCH(work->stream, work->bench->dtype, cast_from_float, work->argument,
                  .y = operand_at(&own->y, copy), .x = operand_at(&own->a, copy));
}

static enum status launch_triad(struct bench_work *work, const struct own *own, int64_t copy)
{
    return LAUNCH(work->stream, work->bench->dtype, triad, work->argument,
                  .y = operand_at(&own->y, copy), .a = operand_at(&own->a, copy),
                  .b = operand_at(&own->b, copy), .scale = SCALE);
}

/* What y must be. */
static double write_of(const struct own *own, int64_t i)
{
    (void)own, (void)i;
    return (double)SCALE;
}

static double copy_of(const struct own *own, int64_t i)
{
    return operand_value(&own->a, i);
}

static double triad_of(const struct own *own, int64_t i)
{
    return operand_value(&own->a, i) + (double)SCALE * operand_value(&own->b, i);
}

static const struct {
    enum status (*launch)(struct bench_work *work, const struct own *own, int64_t copy);
    bool reads_a, reads_b;
    bool a_is_float;                               /* whatever the type of y */
    double (*y_of)(const struct own *, int64_t i); /* NULL: only sums are written */
    int flops;
} accesses[] = {
    [ACCESS_READ] = { launch_read, .reads_a = true, .flops = 2 },
    [ACCESS_WRITE] = { launch_write, .y_of = write_of },
    [ACCESS_COPY] = { launch_copy, .reads_a = true, .a_is_float = true, .y_of = copy_of },
    [ACCESS_TRIAD] = { launch_triad, .reads_a = true, .reads_b = true, .y_of = triad_of,
                       .flops = 2 },
};

static enum status run(struct bench_work *work, int64_t iterations)
{
    enum status status = STATUS_OK;

    for (int64_t i = 0; i < iterations; i++)
        TRY(accesses[work->bench->variant].launch(work, work->own, operands_next(work)));
    TRY(stream_synchronize(work->stream));

out:
    return status;
}

/* Each sum adds WIDTH squares of at most 1 in fp32. */
static enum status check_sums(struct own *own)
{
    enum status status = STATUS_OK;

    for (int64_t row = 0; row < own->sums.count; row += operand_check_step(own->a.count)) {
        double sum = 0;
        for (int64_t i = row * WIDTH; i < (row + 1) * WIDTH; i++)
            sum += operand_value(&own->a, i) * operand_value(&own->a, i);
        TRY(operand_check(&own->sums, "a sum of squares", row, sum, WIDTH * WIDTH * 0x1p-24));
    }

out:
    return status;
}

static enum status check(struct bench_work *work)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;
    double (*y_of)(const struct own *, int64_t) = accesses[work->bench->variant].y_of;

    TRY(operand_read(y_of != NULL ? &own->y : &own->sums, work));
    if (y_of == NULL)
        TRY(check_sums(own));
    for (int64_t i = 0; y_of != NULL && i < work->argument; i += operand_check_step(work->argument))
        TRY(operand_check(&own->y, work->bench->name, i, y_of(own, i), 1e-6));

out:
    return status;
}

static enum status set_up(struct bench_work *work)
{
    enum status status = STATUS_OK;
    enum access access = (enum access)work->bench->variant;
    enum dtype dtype = work->bench->dtype;
    enum dtype dtype_a = accesses[access].a_is_float ? DTYPE_F32 : dtype;
    int64_t count = work->argument, element = (int64_t)dtype_bytes(dtype);
    struct own *own = work->own;

    work->bytes =
        count * (accesses[access].reads_a * (int64_t)dtype_bytes(dtype_a) +
                 accesses[access].reads_b * element + (accesses[access].y_of != NULL) * element);
    work->flops = count * accesses[access].flops;
    operands_rotate(work, work->bytes);
    if (accesses[access].reads_a)
        TRY(operand_open(&own->a, work, dtype_a, count));
    if (accesses[access].reads_b)
        TRY(operand_open(&own->b, work, dtype, count));
    if (accesses[access].y_of != NULL)
        TRY(operand_open(&own->y, work, dtype, count));
    else
        TRY(operand_open(&own->sums, work, DTYPE_F32, count / WIDTH));
    TRY(run(work, 1));
    TRY(check(work));

out:
    return status;
}

#define BW_MEMORY(name_, access, text_)                                                            \
    BENCH_KERNEL(bw_memory_##name_, .text = text_, .variant = access,                              \
                 .arguments = { 1 << 14, 1 << 20 },                                                \
                 .arguments_large = { 1 << 16, 1 << 22, 1 << 26 },                                 \
                 .own_bytes = sizeof(struct own), .set_up = set_up, .run = run)

BW_MEMORY(read, ACCESS_READ, "N elements read: the sum of their squares");
BW_MEMORY(write, ACCESS_WRITE, "N elements written");
BW_MEMORY(copy, ACCESS_COPY, "N elements copied; in bf16 from fp32");
BW_MEMORY(triad, ACCESS_TRIAD, "y = a + s b of N elements: two reads and a write of each");
