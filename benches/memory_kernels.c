/* How fast kernels run that memory bounds: those that only move data, as STREAM does (McCalpin:
 * "Memory bandwidth and machine balance", 1995), and those of the training step. GELU is bound by
 * memory on GPUs and by arithmetic on CPUs.
 *
 * The bytes are those that the kernel asks for, as in STREAM. A GPU moves just those; a CPU reads a
 * cache line before it writes a part of it, so it moves twice what is written. */
#include "benches/parts/kernel_work.h"
#include "benches/parts/operand.h"

#include <math.h>

enum { SQUARES_WIDTH = 512, LAYERNORM_WIDTH = 512, SOFTMAX_WIDTH = 256 };
enum {
    STEP_WIDTH = 768,
    HEADS = 12,
    PART_ROWS = 32
}; /* of the heavy model; of a column sum's part */
enum { WIDTH_MAX = 3 * STEP_WIDTH };
#define TRIAD_SCALE   0.75f
#define SOFTMAX_SCALE 0.125f

/* The role of an operand in its kernel. */
enum role { Y, X, A, B, WEIGHT, BIAS, MEAN, RSTD, SECOND, ROLES };

/* How large an operand is, its type, and whether its bytes count. */
enum extent {
    ABSENT,
    ELEMENTS,        /* in the bench's type */
    FLOATS,          /* as many, in fp32 */
    ROWS,            /* in fp32 */
    ROWS_IGNORED,    /* the same, but what is measured is something else */
    COLUMNS,         /* in the bench's type; they stay in the cache */
    PART_STATISTICS, /* PART_ROWS in fp32 for a row, which is a part of the matrix */
    PARTS,           /* column sums, in fp32: STEP_WIDTH for a row, which is a part of the matrix */
};

struct own {
    struct operand operands[ROLES];
};

struct memory_kernel {
    enum kernel kernel;
    enum status (*launch)(struct bench_work *work, int64_t copy);
    enum extent operands[ROLES];

    /* Computes a row of Y in double precision; `limit` is how far off the kernel may be. */
    void (*compute)(double *y, const struct operand *operands, int64_t row);
    double limit;

    int width;        /* of a row; 1 where elements do not depend on each other */
    bool counts_rows; /* the bench's N is rows, not elements */
};

static void *at(const struct bench_work *work, enum role role, int64_t copy)
{
    const struct own *own = work->own;

    return operand_at(&own->operands[role], copy);
}

/* Defines launch_NAME(work, copy), which launches a kernel in the bench's type with these
 * arguments. */
#define LAUNCHES(name, kernel, count, ...)                                                         \
    static enum status launch_##name(struct bench_work *work, int64_t copy)                        \
    {                                                                                              \
        return LAUNCH(work->stream, work->bench->dtype, kernel, count, __VA_ARGS__);               \
    }

/* --- Moving data --- */

LAUNCHES(read, square_sum, work->argument / SQUARES_WIDTH, .partial = at(work, Y, copy),
         .x = at(work, X, copy), .count = work->argument, .width = SQUARES_WIDTH)

static void compute_read(double *y, const struct operand *operands, int64_t row)
{
    *y = 0;
    for (int64_t i = row * SQUARES_WIDTH; i < (row + 1) * SQUARES_WIDTH; i++)
        *y += pow(operand_value(&operands[X], i), 2);
}

LAUNCHES(write, fill, work->argument, .y = at(work, Y, copy), .value = TRIAD_SCALE)

static void compute_write(double *y, const struct operand *operands, int64_t i)
{
    (void)operands, (void)i;
    *y = (double)TRIAD_SCALE;
}

LAUNCHES(copy, cast_from_float, work->argument, .y = at(work, Y, copy), .x = at(work, X, copy))

static void compute_copy(double *y, const struct operand *operands, int64_t i)
{
    *y = operand_value(&operands[X], i);
}

LAUNCHES(triad, triad, work->argument, .y = at(work, Y, copy), .a = at(work, A, copy),
         .b = at(work, B, copy), .scale = TRIAD_SCALE)

static void compute_triad(double *y, const struct operand *operands, int64_t i)
{
    *y = operand_value(&operands[A], i) + (double)TRIAD_SCALE * operand_value(&operands[B], i);
}

/* --- The training step's kernels --- */

LAUNCHES(residual, residual_add, work->argument, .y = at(work, Y, copy), .a = at(work, A, copy),
         .b = at(work, B, copy))

static void compute_residual(double *y, const struct operand *operands, int64_t i)
{
    *y = operand_value(&operands[A], i) + operand_value(&operands[B], i);
}

LAUNCHES(gelu, gelu_forward, work->argument, .y = at(work, Y, copy), .x = at(work, X, copy))

/* The tanh form (kernels/model/gelu.h). */
static double gelu_of(double x)
{
    return x / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

static void compute_gelu(double *y, const struct operand *operands, int64_t i)
{
    *y = gelu_of(operand_value(&operands[X], i));
}

LAUNCHES(softmax, softmax_forward, work->argument, .y = at(work, Y, copy), .x = at(work, X, copy),
         .lengths = NULL, .scale = SOFTMAX_SCALE, .width = SOFTMAX_WIDTH, .heads = 1,
         .tokens = SOFTMAX_WIDTH)

static void compute_softmax(double *y, const struct operand *operands, int64_t row)
{
    double sum = 0;

    for (int64_t i = 0; i < SOFTMAX_WIDTH; i++)
        sum += y[i] =
            exp((double)SOFTMAX_SCALE * operand_value(&operands[X], row * SOFTMAX_WIDTH + i));
    for (int64_t i = 0; i < SOFTMAX_WIDTH; i++) y[i] /= sum;
}

LAUNCHES(layernorm, layernorm_forward, work->argument, .y = at(work, Y, copy),
         .mean = at(work, MEAN, copy), .rstd = at(work, RSTD, copy), .x = at(work, X, copy),
         .weight = at(work, WEIGHT, copy), .bias = at(work, BIAS, copy), .width = LAYERNORM_WIDTH)

/* kernels/model/layernorm.h has the formula. */
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

/* --- Heads --- */

/* The place of element i of [heads, tokens, head] in [tokens, heads, head], the planes of which (q,
 * k and v) are `planes` rows of a token. */
static int64_t of_tokens(int64_t i, int64_t tokens, int planes)
{
    enum { HEAD = STEP_WIDTH / HEADS };
    int64_t plane = i / (tokens * STEP_WIDTH), in_plane = i % (tokens * STEP_WIDTH);
    int64_t head = in_plane / (tokens * HEAD), token = in_plane / HEAD % tokens;

    return (token * planes + plane) * STEP_WIDTH + head * HEAD + in_plane % HEAD;
}

static char *plane(const struct bench_work *work, enum role role, int64_t copy, int index)
{
    int64_t elements = index * work->argument * STEP_WIDTH;

    return (char *)at(work, role, copy) + elements * (int64_t)dtype_bytes(work->bench->dtype);
}

LAUNCHES(split, split_heads_forward, work->argument, .q = plane(work, Y, copy, 0),
         .k = plane(work, Y, copy, 1), .v = plane(work, Y, copy, 2), .qkv = at(work, X, copy),
         .bias = NULL, .width = STEP_WIDTH, .heads = HEADS, .tokens = (int)work->argument)

static void compute_split(double *y, const struct operand *operands, int64_t row)
{
    const int64_t tokens = operands[Y].count / STEP_WIDTH / 3;

    for (int i = 0; i < 3 * STEP_WIDTH; i++)
        y[i] = operand_value(&operands[X], of_tokens(row * 3 * STEP_WIDTH + i, tokens, 3));
}

LAUNCHES(split_backward, split_heads_backward, work->argument, .dqkv = at(work, Y, copy),
         .dq = plane(work, X, copy, 0), .dk = plane(work, X, copy, 1),
         .dv = plane(work, X, copy, 2), .width = STEP_WIDTH, .heads = HEADS,
         .tokens = (int)work->argument)

/* The way back: element c of a token's plane is where the head's order has it. */
static int64_t of_heads(int64_t token, int c, int64_t tokens)
{
    enum { HEAD = STEP_WIDTH / HEADS };

    return (c / HEAD * tokens + token) * HEAD + c % HEAD;
}

static void compute_split_backward(double *y, const struct operand *operands, int64_t token)
{
    const int64_t tokens = operands[Y].count / STEP_WIDTH / 3;

    for (int i = 0; i < 3 * STEP_WIDTH; i++)
        y[i] = operand_value(&operands[X], i / STEP_WIDTH * tokens * STEP_WIDTH +
                                               of_heads(token, i % STEP_WIDTH, tokens));
}

LAUNCHES(merge, merge_heads_forward, work->argument, .y = at(work, Y, copy), .x = at(work, X, copy),
         .width = STEP_WIDTH, .heads = HEADS, .tokens = (int)work->argument)

static void compute_merge(double *y, const struct operand *operands, int64_t token)
{
    const int64_t tokens = operands[Y].count / STEP_WIDTH;

    for (int c = 0; c < STEP_WIDTH; c++)
        y[c] = operand_value(&operands[X], of_heads(token, c, tokens));
}

LAUNCHES(merge_backward, merge_heads_backward, work->argument, .dx = at(work, Y, copy),
         .dy = at(work, X, copy), .width = STEP_WIDTH, .heads = HEADS,
         .tokens = (int)work->argument)

static void compute_merge_backward(double *y, const struct operand *operands, int64_t row)
{
    const int64_t tokens = operands[Y].count / STEP_WIDTH;

    for (int c = 0; c < STEP_WIDTH; c++)
        y[c] = operand_value(&operands[X], of_tokens(row * STEP_WIDTH + c, tokens, 1));
}

/* --- Biases --- */

LAUNCHES(bias, bias_add, work->argument, .y = at(work, Y, copy), .x = at(work, X, copy),
         .bias = at(work, BIAS, copy), .width = STEP_WIDTH)

static void compute_bias(double *y, const struct operand *operands, int64_t row)
{
    for (int c = 0; c < STEP_WIDTH; c++)
        y[c] =
            operand_value(&operands[X], row * STEP_WIDTH + c) + operand_value(&operands[BIAS], c);
}

LAUNCHES(bias_residual, bias_residual, work->argument, .y = at(work, Y, copy),
         .a = at(work, A, copy), .b = at(work, X, copy), .bias = at(work, BIAS, copy),
         .width = STEP_WIDTH)

static void compute_bias_residual(double *y, const struct operand *operands, int64_t row)
{
    compute_bias(y, operands, row);
    for (int c = 0; c < STEP_WIDTH; c++) y[c] += operand_value(&operands[A], row * STEP_WIDTH + c);
}

LAUNCHES(bias_gelu, bias_gelu_forward, work->argument, .y = at(work, Y, copy),
         .x = at(work, X, copy), .bias = at(work, BIAS, copy), .width = STEP_WIDTH)

static void compute_bias_gelu(double *y, const struct operand *operands, int64_t row)
{
    compute_bias(y, operands, row);
    for (int c = 0; c < STEP_WIDTH; c++) y[c] = gelu_of(y[c]);
}

/* A grid as the step's (harness/engine/model/ops/op_build.h). */
static int part_columns(const struct bench_work *work)
{
    enum { LOAD_OF_A_WARP = 512 };

    return device_properties(work->device)->is_gpu
               ? LOAD_OF_A_WARP / (int)dtype_bytes(work->bench->dtype)
               : STEP_WIDTH;
}

static long part_blocks(const struct bench_work *work)
{
    return (long)work->argument * ((STEP_WIDTH + part_columns(work) - 1) / part_columns(work));
}

LAUNCHES(bias_backward, bias_backward, part_blocks(work), .dbias = at(work, Y, copy),
         .dy = at(work, X, copy), .width = STEP_WIDTH, .rows = (int)work->argument * PART_ROWS,
         .chunk = PART_ROWS, .columns = part_columns(work))

static void compute_bias_backward(double *y, const struct operand *operands, int64_t part)
{
    for (int c = 0; c < STEP_WIDTH; c++) {
        y[c] = 0;
        for (int64_t row = part * PART_ROWS; row < (part + 1) * PART_ROWS; row++)
            y[c] += operand_value(&operands[X], row * STEP_WIDTH + c);
    }
}

/* --- Backward --- */

/* X is the forward's input, A the gradient of its output, Y that of its input. */
LAUNCHES(gelu_backward, gelu_backward, work->argument, .dx = at(work, Y, copy),
         .dy = at(work, A, copy), .x = at(work, X, copy))

static double gelu_slope_of(double x)
{
    double u = sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x), t = tanh(u);

    return (1 + t) / 2 + x / 2 * (1 - t * t) * sqrt(2 / acos(-1)) * (1 + 3 * 0.044715 * x * x);
}

static void compute_gelu_backward(double *y, const struct operand *operands, int64_t i)
{
    *y = operand_value(&operands[A], i) * gelu_slope_of(operand_value(&operands[X], i));
}

LAUNCHES(bias_gelu_backward, bias_gelu_backward, work->argument, .dx = at(work, Y, copy),
         .dy = at(work, A, copy), .x = at(work, X, copy), .bias = at(work, BIAS, copy),
         .width = STEP_WIDTH)

static void compute_bias_gelu_backward(double *y, const struct operand *operands, int64_t row)
{
    compute_bias(y, operands, row);
    for (int c = 0; c < STEP_WIDTH; c++)
        y[c] = operand_value(&operands[A], row * STEP_WIDTH + c) * gelu_slope_of(y[c]);
}

LAUNCHES(softmax_backward, softmax_backward, work->argument, .dx = at(work, Y, copy),
         .y = at(work, X, copy), .dy = at(work, A, copy), .lengths = NULL, .scale = SOFTMAX_SCALE,
         .width = SOFTMAX_WIDTH, .heads = 1, .tokens = SOFTMAX_WIDTH)

/* X is the forward's output here; any numbers do. */
static void compute_softmax_backward(double *y, const struct operand *operands, int64_t row)
{
    double mean = 0;

    for (int64_t i = row * SOFTMAX_WIDTH; i < (row + 1) * SOFTMAX_WIDTH; i++)
        mean += operand_value(&operands[X], i) * operand_value(&operands[A], i);
    for (int64_t i = 0; i < SOFTMAX_WIDTH; i++)
        y[i] = (double)SOFTMAX_SCALE * operand_value(&operands[X], row * SOFTMAX_WIDTH + i) *
               (operand_value(&operands[A], row * SOFTMAX_WIDTH + i) - mean);
}

LAUNCHES(layernorm_backward, layernorm_backward, work->argument, .dx = at(work, Y, copy),
         .x = at(work, X, copy), .dy = at(work, A, copy), .weight = at(work, WEIGHT, copy),
         .mean = at(work, MEAN, copy), .rstd = at(work, RSTD, copy), .width = STEP_WIDTH)

/* With any numbers as mean and 1 / deviation. */
static void compute_layernorm_backward(double *y, const struct operand *operands, int64_t row)
{
    const double mean = operand_value(&operands[MEAN], row);
    const double rstd = operand_value(&operands[RSTD], row);
    double d_mean = 0, dn_mean = 0;

    for (int pass = 0; pass < 2; pass++)
        for (int c = 0; c < STEP_WIDTH; c++) {
            double n = (operand_value(&operands[X], row * STEP_WIDTH + c) - mean) * rstd;
            double d = operand_value(&operands[A], row * STEP_WIDTH + c) *
                       operand_value(&operands[WEIGHT], c);
            if (pass == 0) {
                d_mean += d / STEP_WIDTH;
                dn_mean += d * n / STEP_WIDTH;
            } else {
                y[c] = rstd * (d - d_mean - n * dn_mean);
            }
        }
}

LAUNCHES(residual_layernorm_backward, residual_layernorm_backward, work->argument,
         .dx = at(work, Y, copy), .x = at(work, X, copy), .dy = at(work, A, copy),
         .add = at(work, B, copy), .weight = at(work, WEIGHT, copy), .mean = at(work, MEAN, copy),
         .rstd = at(work, RSTD, copy), .width = STEP_WIDTH)

static void compute_residual_layernorm_backward(double *y, const struct operand *operands,
                                                int64_t row)
{
    compute_layernorm_backward(y, operands, row);
    for (int c = 0; c < STEP_WIDTH; c++) y[c] += operand_value(&operands[B], row * STEP_WIDTH + c);
}

LAUNCHES(layernorm_backward_weight, layernorm_backward_weight, part_blocks(work),
         .dweight = at(work, Y, copy), .dbias = at(work, SECOND, copy), .x = at(work, X, copy),
         .dy = at(work, A, copy), .mean = at(work, MEAN, copy), .rstd = at(work, RSTD, copy),
         .width = STEP_WIDTH, .rows = (int)work->argument * PART_ROWS, .chunk = PART_ROWS,
         .columns = part_columns(work))

static void compute_layernorm_backward_weight(double *y, const struct operand *operands,
                                              int64_t part)
{
    for (int c = 0; c < STEP_WIDTH; c++) {
        y[c] = 0;
        for (int64_t row = part * PART_ROWS; row < (part + 1) * PART_ROWS; row++)
            y[c] += operand_value(&operands[A], row * STEP_WIDTH + c) *
                    (operand_value(&operands[X], row * STEP_WIDTH + c) -
                     operand_value(&operands[MEAN], row)) *
                    operand_value(&operands[RSTD], row);
    }
}

enum {
    READ,
    WRITE,
    COPY,
    TRIAD,
    RESIDUAL,
    GELU,
    SOFTMAX,
    LAYERNORM,
    SPLIT,
    SPLIT_BACKWARD,
    MERGE,
    MERGE_BACKWARD,
    BIAS_ADD,
    BIAS_RESIDUAL,
    BIAS_GELU,
    BIAS_BACKWARD,
    GELU_BACKWARD,
    BIAS_GELU_BACKWARD,
    SOFTMAX_BACKWARD,
    LAYERNORM_BACKWARD,
    RESIDUAL_LAYERNORM_BACKWARD,
    LAYERNORM_BACKWARD_WEIGHT,
};

static const struct memory_kernel kernels[] = {
    [READ] = {
        KERNEL_square_sum, launch_read, { [Y] = ROWS_IGNORED, [X] = ELEMENTS }, compute_read,
        /* a sum of squares of at most 1 in fp32 */
        .limit = SQUARES_WIDTH * SQUARES_WIDTH * 0x1p-24,
        .width = SQUARES_WIDTH,
    },
    [WRITE] = {
        KERNEL_fill, launch_write, { [Y] = ELEMENTS }, compute_write, .limit = 1e-6, .width = 1,
    },
    [COPY] = {
        KERNEL_cast_from_float, launch_copy, { [Y] = ELEMENTS, [X] = FLOATS }, compute_copy,
        .limit = 1e-6, .width = 1,
    },
    [TRIAD] = {
        KERNEL_triad, launch_triad, { [Y] = ELEMENTS, [A] = ELEMENTS, [B] = ELEMENTS },
        compute_triad, .limit = 1e-6, .width = 1,
    },
    [RESIDUAL] = {
        KERNEL_residual_add, launch_residual, { [Y] = ELEMENTS, [A] = ELEMENTS, [B] = ELEMENTS },
        compute_residual, .width = 1,
    },
    [GELU] = {
        KERNEL_gelu_forward, launch_gelu, { [Y] = ELEMENTS, [X] = ELEMENTS }, compute_gelu,
        .limit = 1e-5, .width = 1,
    },
    [SOFTMAX] = {
        KERNEL_softmax_forward, launch_softmax, { [Y] = ELEMENTS, [X] = ELEMENTS },
        compute_softmax, .limit = 1e-5 / SOFTMAX_WIDTH, .width = SOFTMAX_WIDTH,
        .counts_rows = true,
    },
    [LAYERNORM] = {
        KERNEL_layernorm_forward, launch_layernorm,
        { [Y] = ELEMENTS, [X] = ELEMENTS, [WEIGHT] = COLUMNS, [BIAS] = COLUMNS, [MEAN] = ROWS,
          [RSTD] = ROWS }, compute_layernorm, .limit = 1e-5, .width = LAYERNORM_WIDTH,
        .counts_rows = true,
    },
    [SPLIT] = {
        KERNEL_split_heads_forward, launch_split, { [Y] = ELEMENTS, [X] = ELEMENTS },
        compute_split, .width = 3 * STEP_WIDTH, .counts_rows = true,
    },
    [SPLIT_BACKWARD] = {
        KERNEL_split_heads_backward, launch_split_backward, { [Y] = ELEMENTS, [X] = ELEMENTS },
        compute_split_backward, .width = 3 * STEP_WIDTH, .counts_rows = true,
    },
    [MERGE] = {
        KERNEL_merge_heads_forward, launch_merge, { [Y] = ELEMENTS, [X] = ELEMENTS },
        compute_merge, .width = STEP_WIDTH, .counts_rows = true,
    },
    [MERGE_BACKWARD] = {
        KERNEL_merge_heads_backward, launch_merge_backward, { [Y] = ELEMENTS, [X] = ELEMENTS },
        compute_merge_backward, .width = STEP_WIDTH, .counts_rows = true,
    },
    [BIAS_ADD] = {
        KERNEL_bias_add, launch_bias, { [Y] = ELEMENTS, [X] = ELEMENTS, [BIAS] = COLUMNS },
        compute_bias, .limit = 1e-6, .width = STEP_WIDTH, .counts_rows = true,
    },
    [BIAS_RESIDUAL] = {
        KERNEL_bias_residual, launch_bias_residual,
        { [Y] = ELEMENTS, [X] = ELEMENTS, [A] = ELEMENTS, [BIAS] = COLUMNS },
        compute_bias_residual, .limit = 1e-6, .width = STEP_WIDTH, .counts_rows = true,
    },
    [BIAS_GELU] = {
        KERNEL_bias_gelu_forward, launch_bias_gelu,
        { [Y] = ELEMENTS, [X] = ELEMENTS, [BIAS] = COLUMNS }, compute_bias_gelu, .limit = 1e-5,
        .width = STEP_WIDTH, .counts_rows = true,
    },
    [BIAS_BACKWARD] = {
        KERNEL_bias_backward, launch_bias_backward, { [Y] = PARTS, [X] = ELEMENTS },
        compute_bias_backward, .limit = 1e-5, .width = PART_ROWS * STEP_WIDTH, .counts_rows = true,
    },
    [GELU_BACKWARD] = {
        KERNEL_gelu_backward, launch_gelu_backward,
        { [Y] = ELEMENTS, [X] = ELEMENTS, [A] = ELEMENTS }, compute_gelu_backward, .limit = 1e-5,
        .width = 1,
    },
    [BIAS_GELU_BACKWARD] = {
        KERNEL_bias_gelu_backward, launch_bias_gelu_backward,
        { [Y] = ELEMENTS, [X] = ELEMENTS, [A] = ELEMENTS, [BIAS] = COLUMNS },
        compute_bias_gelu_backward, .limit = 1e-5, .width = STEP_WIDTH, .counts_rows = true,
    },
    [SOFTMAX_BACKWARD] = {
        KERNEL_softmax_backward, launch_softmax_backward,
        { [Y] = ELEMENTS, [X] = ELEMENTS, [A] = ELEMENTS }, compute_softmax_backward,
        .limit = 1e-5, .width = SOFTMAX_WIDTH, .counts_rows = true,
    },
    [LAYERNORM_BACKWARD] = {
        KERNEL_layernorm_backward, launch_layernorm_backward,
        { [Y] = ELEMENTS, [X] = ELEMENTS, [A] = ELEMENTS, [WEIGHT] = COLUMNS, [MEAN] = ROWS,
          [RSTD] = ROWS }, compute_layernorm_backward, .limit = 1e-5, .width = STEP_WIDTH,
        .counts_rows = true,
    },
    [RESIDUAL_LAYERNORM_BACKWARD] = {
        KERNEL_residual_layernorm_backward, launch_residual_layernorm_backward,
        { [Y] = ELEMENTS, [X] = ELEMENTS, [A] = ELEMENTS, [B] = ELEMENTS, [WEIGHT] = COLUMNS,
          [MEAN] = ROWS, [RSTD] = ROWS }, compute_residual_layernorm_backward, .limit = 1e-5,
        .width = STEP_WIDTH, .counts_rows = true,
    },
    [LAYERNORM_BACKWARD_WEIGHT] = {
        KERNEL_layernorm_backward_weight, launch_layernorm_backward_weight,
        { [Y] = PARTS, [SECOND] = PARTS, [X] = ELEMENTS, [A] = ELEMENTS, [MEAN] = PART_STATISTICS,
          [RSTD] = PART_STATISTICS }, compute_layernorm_backward_weight, .limit = 1e-4,
        .width = PART_ROWS * STEP_WIDTH, .counts_rows = true,
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

/* The operands' bytes and the kernel's row in kernels/kernels.h must agree. */
static enum status count_work(struct bench_work *work, int64_t operand_bytes)
{
    const struct memory_kernel *kernel = kernel_of(work);
    const int64_t rows = rows_of(work), elements = rows * kernel->width;
    const bool sums_columns = kernel->operands[Y] == PARTS;
    const struct kernel_extent extent = {
        .elements = elements,
        .rows = !kernel->counts_rows ? 0
                : sums_columns       ? rows * PART_ROWS
                                     : rows,
        .sums = sums_columns ? rows * STEP_WIDTH : 0,
    };

    work->bytes = kernel_bytes(kernel->kernel, work->bench->dtype, extent);
    work->flops = kernel_flops(kernel->kernel, elements);
    if (work->bytes != operand_bytes)
        FAIL(STATUS_INTERNAL, "%s: kernels/kernels.h says %lld bytes, but its operands have %lld",
             work->bench->name, (long long)work->bytes, (long long)operand_bytes);

    return STATUS_OK;
}

static enum status open_operands(struct bench_work *work)
{
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
        [PARTS] = { rows * STEP_WIDTH, DTYPE_F32, true },
        [PART_STATISTICS] = { rows * PART_ROWS, DTYPE_F32, true },
    };
    int64_t bytes = 0;

    for (int role = 0; role < ROLES; role++) {
        enum extent extent = kernel->operands[role];
        if (extents[extent].is_counted)
            bytes += extents[extent].count * (int64_t)dtype_bytes(extents[extent].dtype);
    }
    TRY(count_work(work, bytes));
    operands_rotate(work, bytes);
    for (int role = 0; role < ROLES; role++) {
        enum extent extent = kernel->operands[role];
        if (extent != ABSENT)
            TRY(operand_open(&own->operands[role], work, extents[extent].dtype,
                             extents[extent].count));
    }

    return STATUS_OK;
}

static enum status kernel_run(struct bench_work *work, int64_t iterations)
{
    const struct memory_kernel *kernel = kernel_of(work);

    for (int64_t i = 0; i < iterations && !*work->stop; i++)
        TRY(kernel->launch(work, operands_next(work)));
    return stream_synchronize(work->stream);
}

static enum status check_row(const struct bench_work *work, int64_t row)
{
    const struct own *own = work->own;
    const struct operand *y = &own->operands[Y];
    const struct memory_kernel *kernel = kernel_of(work);
    int64_t count = y->count / rows_of(work);
    double expected[WIDTH_MAX];

    kernel->compute(expected, own->operands, row);
    for (int64_t i = 0; i < count; i++)
        TRY(operand_check(y, work->bench->name, row * count + i, expected[i], kernel->limit));

    return STATUS_OK;
}

static enum status kernel_set_up(struct bench_work *work)
{
    struct own *own = work->own;
    const int64_t rows = rows_of(work);
    const int64_t step = operand_check_step(rows * kernel_of(work)->width);

    TRY(open_operands(work));
    TRY(kernel_run(work, 1));
    TRY(operand_read(&own->operands[Y], work));
    for (int64_t row = 0; row < rows; row += step) TRY(check_row(work, row));
    return check_row(work, rows - 1);
}

/* N counts units of so many elements. */
#define MEMORY_KERNEL(name, kernel, unit, text_)                                                   \
    BENCH_KERNEL(                                                                                  \
        name, .text = text_, .variant = kernel,                                                    \
        .arguments = { (1 << 14) / (unit), (1 << 20) / (unit) },                                   \
        .arguments_large = { (1 << 16) / (unit), (1 << 22) / (unit), (1 << 26) / (unit) },         \
        .own_bytes = sizeof(struct own), .set_up = kernel_set_up, .run = kernel_run)

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

/* Rows that are cold only, for one size that no cache holds. */
#define COLD_KERNEL(name, kernel, unit, text_)                                                     \
    BENCH_COLD(name, .text = text_, .variant = kernel, .arguments = { (1 << 20) / (unit) },        \
               .arguments_large = { (1 << 26) / (unit) }, .own_bytes = sizeof(struct own),         \
               .set_up = kernel_set_up, .run = kernel_run)

COLD_KERNEL(split_heads, SPLIT, 3 * STEP_WIDTH, "q, k, v of N tokens, by heads");
COLD_KERNEL(split_heads_backward, SPLIT_BACKWARD, 3 * STEP_WIDTH,
            "gradients of q, k, v put together for N tokens");
COLD_KERNEL(merge_heads, MERGE, STEP_WIDTH, "heads put together for N tokens");
COLD_KERNEL(merge_heads_backward, MERGE_BACKWARD, STEP_WIDTH, "the gradient of N tokens, by heads");
COLD_KERNEL(bias, BIAS_ADD, STEP_WIDTH, "a bias on N rows of 768 elements");
COLD_KERNEL(bias_residual, BIAS_RESIDUAL, STEP_WIDTH,
            "a bias and a second tensor on N rows of 768 elements");
COLD_KERNEL(bias_gelu, BIAS_GELU, STEP_WIDTH, "GELU of N rows of 768 elements and a bias");
COLD_KERNEL(bias_backward, BIAS_BACKWARD, PART_ROWS *STEP_WIDTH,
            "column sums of N times 32 rows of 768 elements");
COLD_KERNEL(gelu_backward, GELU_BACKWARD, 1, "the gradient of GELU of N elements");
COLD_KERNEL(bias_gelu_backward, BIAS_GELU_BACKWARD, STEP_WIDTH,
            "the gradient of GELU of N rows of 768 elements and a bias");
COLD_KERNEL(softmax_backward, SOFTMAX_BACKWARD, SOFTMAX_WIDTH,
            "the gradient of softmax of N rows of 256 elements");
COLD_KERNEL(layernorm_backward, LAYERNORM_BACKWARD, STEP_WIDTH,
            "the gradient of N normalised rows of 768 elements");
COLD_KERNEL(residual_layernorm_backward, RESIDUAL_LAYERNORM_BACKWARD, STEP_WIDTH,
            "the same, added to another gradient");
COLD_KERNEL(layernorm_backward_weight, LAYERNORM_BACKWARD_WEIGHT, PART_ROWS *STEP_WIDTH,
            "the parameters' gradients of N times 32 normalised rows, in parts");
