/* How fast kernels run that memory bounds: those that only move data, as STREAM does (McCalpin: "Memory
 * bandwidth and machine balance", 1995), and those of the training step. GELU is bound by memory on GPUs
 * and by arithmetic on CPUs.
 *
 * The bytes are those that the kernel asks for, as in STREAM. A GPU moves just those; a CPU reads a cache
 * line before it writes a part of it, so it moves twice what is written. */
#include "benches/operand.h"

#include <math.h>

enum { SQUARES_WIDTH = 512, LAYERNORM_WIDTH = 512, SOFTMAX_WIDTH = 256, WIDTH_MAX = 512 };
#define TRIAD_SCALE   0.75f
#define SOFTMAX_SCALE 0.125f

/* What an operand is to its kernel. */
enum role { Y, X, A, B, WEIGHT, BIAS, MEAN, RSTD, ROLES };

/* How large an operand is, its type, and whether its bytes count. */
enum extent {
    ABSENT,
    ELEMENTS,     /* in the bench's type */
    FLOATS,       /* as many, in fp32 */
    ROWS,         /* in fp32 */
    ROWS_IGNORED, /* the same, but what is measured is something else */
    COLUMNS,      /* in the bench's type; they stay in the cache */
};

struct own {
    struct operand operands[ROLES];
};

struct memory_kernel {
    enum status (*launch)(struct bench_work *work, int64_t copy);
    enum extent operands[ROLES];

    /* What a row of Y must be, in double precision, and how far off it may be. */
    void (*compute)(double *y, const struct operand *operands, int64_t row);
    double limit;

    int flops;        /* per element */
    int width;        /* of a row; 1 where elements do not depend on each other */
    bool counts_rows; /* the bench's N is rows, not elements */
};

static void *at(const struct bench_work *work, enum role role, int64_t copy)
{
    const struct own *own = work->own;

    return operand_at(&own->operands[role], copy);
}

/* --- Moving data --- */

static enum status launch_read(struct bench_work *work, int64_t copy)
{
    return LAUNCH(work->stream, work->bench->dtype, square_sum, work->argument / SQUARES_WIDTH,
                  .partial = at(work, Y, copy), .x = at(work, X, copy), .count = work->argument,
                  .width = SQUARES_WIDTH);
}

static void compute_read(double *y, const struct operand *operands, int64_t row)
{
    *y = 0;
    for (int64_t i = row * SQUARES_WIDTH; i < (row + 1) * SQUARES_WIDTH; i++)
        *y += pow(operand_value(&operands[X], i), 2);
}

static enum status launch_write(struct bench_work *work, int64_t copy)
{
    return LAUNCH(work->stream, work->bench->dtype, fill, work->argument, .y = at(work, Y, copy),
                  .value = TRIAD_SCALE);
}

static void compute_write(double *y, const struct operand *operands, int64_t i)
{
    (void)operands, (void)i;
    *y = (double)TRIAD_SCALE;
}

static enum status launch_copy(struct bench_work *work, int64_t copy)
{
    return LAUNCH(work->stream, work->bench->dtype, cast_from_float, work->argument,
                  .y = at(work, Y, copy), .x = at(work, X, copy));
}

static void compute_copy(double *y, const struct operand *operands, int64_t i)
{
    *y = operand_value(&operands[X], i);
}

static enum status launch_triad(struct bench_work *work, int64_t copy)
{
    return LAUNCH(work->stream, work->bench->dtype, triad, work->argument, .y = at(work, Y, copy),
                  .a = at(work, A, copy), .b = at(work, B, copy), .scale = TRIAD_SCALE);
}

static void compute_triad(double *y, const struct operand *operands, int64_t i)
{
    *y = operand_value(&operands[A], i) + (double)TRIAD_SCALE * operand_value(&operands[B], i);
}

/* --- The training step's kernels --- */

static enum status launch_residual(struct bench_work *work, int64_t copy)
{
    return LAUNCH(work->stream, work->bench->dtype, residual_add, work->argument,
                  .y = at(work, Y, copy), .a = at(work, A, copy), .b = at(work, B, copy));
}

static void compute_residual(double *y, const struct operand *operands, int64_t i)
{
    *y = operand_value(&operands[A], i) + operand_value(&operands[B], i);
}

static enum status launch_gelu(struct bench_work *work, int64_t copy)
{
    return LAUNCH(work->stream, work->bench->dtype, gelu_forward, work->argument,
                  .y = at(work, Y, copy), .x = at(work, X, copy));
}

/* The tanh form (kernels/gelu.h). */
static void compute_gelu(double *y, const struct operand *operands, int64_t i)
{
    double x = operand_value(&operands[X], i);

    *y = x / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

static enum status launch_softmax(struct bench_work *work, int64_t copy)
{
    return LAUNCH(work->stream, work->bench->dtype, softmax_forward, work->argument,
                  .y = at(work, Y, copy), .x = at(work, X, copy), .lengths = NULL,
                  .scale = SOFTMAX_SCALE, .width = SOFTMAX_WIDTH, .heads = 1,
                  .tokens = SOFTMAX_WIDTH);
}

static void compute_softmax(double *y, const struct operand *operands, int64_t row)
{
    double sum = 0;

    for (int64_t i = 0; i < SOFTMAX_WIDTH; i++)
        sum += y[i] =
            exp((double)SOFTMAX_SCALE * operand_value(&operands[X], row * SOFTMAX_WIDTH + i));
    for (int64_t i = 0; i < SOFTMAX_WIDTH; i++) y[i] /= sum;
}

static enum status launch_layernorm(struct bench_work *work, int64_t copy)
{
    return LAUNCH(
        work->stream, work->bench->dtype, layernorm_forward, work->argument, .y = at(work, Y, copy),
        .mean = at(work, MEAN, copy), .rstd = at(work, RSTD, copy), .x = at(work, X, copy),
        .weight = at(work, WEIGHT, copy), .bias = at(work, BIAS, copy), .width = LAYERNORM_WIDTH);
}

/* kernels/layernorm.h has the formula. */
static void compute_layernorm(double *y, const struct operand *operands, int64_t row)
{
    const int64_t begin = row * LAYERNORM_WIDTH;
    double mean = 0, variance = 0;

    for (int64_t i = 0; i < LAYERNORM_WIDTH; i++)
        mean += operand_value(&operands[X], begin + i) / LAYERNORM_WIDTH;
    for (int64_t i = 0; i < LAYERNORM_WIDTH; i++)
        variance += pow(operand_value(&operands[X], begin + i) - mean, 2) / LAYERNORM_WIDTH;
    for (int64_t i = 0; i < LAYERNORM_WIDTH; i++)
        y[i] = (operand_value(&operands[X], begin + i) - mean) / sqrt(variance + 1e-5) *
                   operand_value(&operands[WEIGHT], i) +
               operand_value(&operands[BIAS], i);
}

enum { READ, WRITE, COPY, TRIAD, RESIDUAL, GELU, SOFTMAX, LAYERNORM };

static const struct memory_kernel kernels[] = {
    [READ] = {
        launch_read, { [Y] = ROWS_IGNORED, [X] = ELEMENTS }, compute_read,
        .limit = SQUARES_WIDTH * SQUARES_WIDTH * 0x1p-24, /* a sum of squares of at most 1 in fp32 */
        .flops = SQUARE_SUM_FLOPS, .width = SQUARES_WIDTH,
    },
    [WRITE] = {
        launch_write, { [Y] = ELEMENTS }, compute_write, .limit = 1e-6, .width = 1,
    },
    [COPY] = {
        launch_copy, { [Y] = ELEMENTS, [X] = FLOATS }, compute_copy, .limit = 1e-6, .width = 1,
    },
    [TRIAD] = {
        launch_triad, { [Y] = ELEMENTS, [A] = ELEMENTS, [B] = ELEMENTS }, compute_triad,
        .limit = 1e-6, .flops = TRIAD_FLOPS, .width = 1,
    },
    [RESIDUAL] = {
        launch_residual, { [Y] = ELEMENTS, [A] = ELEMENTS, [B] = ELEMENTS }, compute_residual,
        .flops = RESIDUAL_ADD_FLOPS, .width = 1,
    },
    [GELU] = {
        launch_gelu, { [Y] = ELEMENTS, [X] = ELEMENTS }, compute_gelu,
        .limit = 1e-5, .flops = GELU_FORWARD_FLOPS, .width = 1,
    },
    [SOFTMAX] = {
        launch_softmax, { [Y] = ELEMENTS, [X] = ELEMENTS }, compute_softmax,
        .limit = 1e-5 / SOFTMAX_WIDTH, .flops = SOFTMAX_FORWARD_FLOPS, .width = SOFTMAX_WIDTH,
        .counts_rows = true,
    },
    [LAYERNORM] = {
        launch_layernorm,
        { [Y] = ELEMENTS, [X] = ELEMENTS, [WEIGHT] = COLUMNS, [BIAS] = COLUMNS, [MEAN] = ROWS,
          [RSTD] = ROWS },
        compute_layernorm,
        .limit = 1e-5, .flops = LAYERNORM_FORWARD_FLOPS, .width = LAYERNORM_WIDTH,
        .counts_rows = true,
    },
};

static const struct memory_kernel *kernel_of(const struct bench_work *work)
{
    return &kernels[work->bench->variant];
}

static int64_t rows_of(const struct bench_work *work)
{
    const struct memory_kernel *kernel = kernel_of(work);

    return kernel->counts_rows ? work->argument : work->argument / kernel->width;
}

static enum status open_operands(struct bench_work *work)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;
    const struct memory_kernel *kernel = kernel_of(work);
    const enum dtype dtype = work->bench->dtype;
    const int64_t rows = rows_of(work), elements = rows * kernel->width;
    const struct {
        int64_t count;
        enum dtype dtype;
        bool is_counted;
    } extents[] = {
        [ABSENT] = { 0, dtype, false },
        [ELEMENTS] = { elements, dtype, true },
        [FLOATS] = { elements, DTYPE_F32, true },
        [ROWS] = { rows, DTYPE_F32, true },
        [ROWS_IGNORED] = { rows, DTYPE_F32, false },
        [COLUMNS] = { kernel->width, dtype, false },
    };

    for (int role = 0; role < ROLES; role++) {
        enum extent extent = kernel->operands[role];
        if (extents[extent].is_counted)
            work->bytes += extents[extent].count * (int64_t)dtype_bytes(extents[extent].dtype);
    }
    work->flops = kernel->flops * elements;
    operands_rotate(work, work->bytes);
    for (int role = 0; role < ROLES; role++) {
        enum extent extent = kernel->operands[role];
        if (extent != ABSENT)
            TRY(operand_open(&own->operands[role], work, extents[extent].dtype,
                             extents[extent].count));
    }

out:
    return status;
}

static enum status run(struct bench_work *work, int64_t iterations)
{
    enum status status = STATUS_OK;
    const struct memory_kernel *kernel = kernel_of(work);

    for (int64_t i = 0; i < iterations; i++) TRY(kernel->launch(work, operands_next(work)));
    TRY(stream_synchronize(work->stream));

out:
    return status;
}

static enum status check_row(const struct bench_work *work, int64_t row)
{
    enum status status = STATUS_OK;
    const struct own *own = work->own;
    const struct operand *y = &own->operands[Y];
    const struct memory_kernel *kernel = kernel_of(work);
    int64_t count = y->count / rows_of(work);
    double expected[WIDTH_MAX];

    kernel->compute(expected, own->operands, row);
    for (int64_t i = 0; i < count; i++)
        TRY(operand_check(y, work->bench->name, row * count + i, expected[i], kernel->limit));

out:
    return status;
}

static enum status set_up(struct bench_work *work)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;
    const int64_t rows = rows_of(work);
    const int64_t step = operand_check_step(rows * kernel_of(work)->width);

    TRY(open_operands(work));
    TRY(run(work, 1));
    TRY(operand_read(&own->operands[Y], work));
    for (int64_t row = 0; row < rows; row += step) TRY(check_row(work, row));
    TRY(check_row(work, rows - 1));

out:
    return status;
}

/* N counts units of so many elements. */
#define MEMORY_KERNEL(name, kernel, unit, text_)                                                   \
    BENCH_KERNEL(                                                                                  \
        name, .text = text_, .variant = kernel,                                                    \
        .arguments = { (1 << 14) / (unit), (1 << 20) / (unit) },                                   \
        .arguments_large = { (1 << 16) / (unit), (1 << 22) / (unit), (1 << 26) / (unit) },         \
        .own_bytes = sizeof(struct own), .set_up = set_up, .run = run)

MEMORY_KERNEL(bw_memory_read, READ, 1, "N elements read: the sum of their squares");
MEMORY_KERNEL(bw_memory_write, WRITE, 1, "N elements written");
MEMORY_KERNEL(bw_memory_copy, COPY, 1, "N elements copied; in bf16 from fp32");
MEMORY_KERNEL(bw_memory_triad, TRIAD, 1,
              "y = a + s b of N elements: two reads and a write of each");
MEMORY_KERNEL(residual, RESIDUAL, 1,
              "the sum of two tensors of N elements: two reads and a write of each");
MEMORY_KERNEL(gelu, GELU, 1, "GELU of N elements, one read and one write of each");
MEMORY_KERNEL(softmax, SOFTMAX, SOFTMAX_WIDTH,
              "softmax of N rows of 256 elements, one read and one write of each");
MEMORY_KERNEL(layernorm, LAYERNORM, LAYERNORM_WIDTH,
              "N rows of 512 elements normalised, one read and one write of each");
