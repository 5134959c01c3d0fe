/* Bias, its gradient by column sums, and the sums' second half. */
#include "tests/kernels/families.h"
#include "tests/kernels/references.h"

static const int widths[] = { 32, 64, 96, 128, 768 };
static const int row_counts[] = { 1, 5, 64, 197 };

KERNEL_TEST(bias_add_follows_its_reference)
{
    for (size_t i = 0; i < 2 * ARRAY_SIZE(widths) * ARRAY_SIZE(row_counts); i++) {
        bool in_place = i % 2;
        int width = widths[i / 2 % ARRAY_SIZE(widths)];
        int rows = row_counts[i / 2 / ARRAY_SIZE(widths)];

        workbench_case(bench, "bias_add: rows %d, width %d", rows, width);
        struct tensor *x = tensor_normal(bench, REAL, rows * width, 0, 1);
        struct tensor *bias = tensor_normal(bench, REAL, width, 0, 1);
        struct tensor *y = in_place ? x : tensor_output(bench, REAL, rows * width);
        double *reference = workbench_doubles(bench, rows * width);

        reference_bias_add(reference, x->values, bias->values, rows, width);
        RUN(bench, bias_add, rows, .y = y->data, .x = x->data, .bias = bias->data, .width = width);
        EXPECT(bench, y, reference, 1e-7);
    }
}

/* All columns together, or the 32, 64 or 96 that a row of the grid takes. */
static int columns_of(int width, size_t i)
{
    return i % 4 == 0 ? width : ROW_MULTIPLE * (int)(i % 4);
}

KERNEL_TEST(bias_backward_and_columns_finish_follow_their_references)
{
    static const int chunks[] = { 1, 7, 64, 300 };

    for (size_t i = 0; i < 2 * ARRAY_SIZE(widths) * ARRAY_SIZE(row_counts) * 4; i++) {
        bool accumulate = i % 2;
        int chunk = chunks[i / 2 % 4];
        int width = widths[i / 8 % ARRAY_SIZE(widths)];
        int rows = row_counts[i / 8 / ARRAY_SIZE(widths)];
        int columns = columns_of(width, i / 8);
        int parts = (rows + chunk - 1) / chunk, tiles = (width + columns - 1) / columns;

        workbench_case(bench, "bias_backward: rows %d, width %d, chunk %d, columns %d", rows, width,
                       chunk, columns);
        struct tensor *dy = tensor_normal(bench, REAL, rows * width, 0.1, 1);
        struct tensor *partial = tensor_output(bench, FLOAT, parts * width);
        double *reference = workbench_doubles(bench, parts * width);
        reference_bias_backward(reference, dy->values, width, rows, chunk);
        RUN(bench, bias_backward, parts * tiles, .dbias = partial->data, .dy = dy->data,
            .width = width, .rows = rows, .chunk = chunk, .columns = columns);
        EXPECT(bench, partial, reference, 2e-6);

        struct tensor *y = accumulate ? tensor_normal(bench, REAL, width, 0, 3)
                                      : tensor_output(bench, REAL, width);
        double *sums = workbench_doubles(bench, width);
        for (int c = 0; c < width; c++) sums[c] = y->values[c];
        reference_columns_finish(sums, partial->values, width, parts, accumulate);
        RUN(bench, columns_finish, width, .y = y->data, .partial = partial->data, .width = width,
            .parts = parts, .accumulate = accumulate);
        EXPECT(bench, y, sums, 2e-6);
    }
}

/* So many parts that a lane of a GPU adds several at a time, with some left over: the heavy step
 * has 788. */
KERNEL_TEST(many_parts_are_added_up)
{
    static const int part_counts[] = { 225, 256, 257, 788 };

    for (size_t i = 0; i < 2 * ARRAY_SIZE(part_counts); i++) {
        int parts = part_counts[i / 2], width = 64, accumulate = i % 2;

        workbench_case(bench, "columns_finish: parts %d", parts);
        struct tensor *partial = tensor_normal(bench, FLOAT, parts * width, 0.1, 1);
        struct tensor *y = tensor_normal(bench, REAL, width, 0, 3);
        double *sums = workbench_doubles(bench, width);
        for (int c = 0; c < width; c++) sums[c] = y->values[c];
        reference_columns_finish(sums, partial->values, width, parts, accumulate);
        RUN(bench, columns_finish, width, .y = y->data, .partial = partial->data, .width = width,
            .parts = parts, .accumulate = accumulate);
        EXPECT(bench, y, sums, 2e-6);
    }
}

struct bias_slope {
    const double *x, *bias, *dy;
    double *y;
    long rows;
    int width;
};

static double bias_loss(void *context)
{
    const struct bias_slope *slope = context;

    reference_bias_add(slope->y, slope->x, slope->bias, slope->rows, slope->width);
    return reference_dot(slope->y, slope->dy, slope->rows * slope->width);
}

KERNEL_TEST(bias_backward_reference_is_the_slope_of_bias_add)
{
    enum { ROWS = 13, WIDTH = 32, CHUNK = 5, PARTS = 3 };

    workbench_case(bench, "references of bias");
    struct tensor *x = tensor_normal(bench, FLOAT, ROWS * WIDTH, 0, 1);
    struct tensor *dy = tensor_normal(bench, FLOAT, ROWS * WIDTH, 0, 1);
    struct tensor *bias = tensor_normal(bench, FLOAT, WIDTH, 0, 1);
    double *y = workbench_doubles(bench, ROWS * WIDTH);
    double *partial = workbench_doubles(bench, PARTS * WIDTH);
    double *dbias = workbench_doubles(bench, WIDTH);
    struct bias_slope slope = { x->values, bias->values, dy->values, y, ROWS, WIDTH };

    reference_bias_backward(partial, dy->values, WIDTH, ROWS, CHUNK);
    reference_columns_finish(dbias, partial, WIDTH, PARTS, false);
    WITHIN(bench, "slope",
           reference_slope_error(bias->values, dbias, WIDTH, bias_loss, &slope, &bench->random),
           1e-7);
}
