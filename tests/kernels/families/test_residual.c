/* The residual connection. */
#include "tests/kernels/families.h"
#include "tests/kernels/references.h"

KERNEL_TEST(residual_add_follows_its_reference)
{
    static const long counts[] = { 32, 96, 5 * 64, 64 * 128, 197 * 768 };

    for (size_t i = 0; i < 3 * ARRAY_SIZE(counts); i++) {
        long count = counts[i / 3];

        workbench_case(bench, "residual_add: count %ld, y is %s", count,
                       i % 3 == 0   ? "itself"
                       : i % 3 == 1 ? "a"
                                    : "b");
        struct tensor *a = tensor_normal(bench, REAL, count, 0, 1);
        struct tensor *b = tensor_normal(bench, REAL, count, 0, 1);
        struct tensor *const outputs[] = { tensor_output(bench, REAL, count), a, b };
        struct tensor *y = outputs[i % 3];
        double *reference = workbench_doubles(bench, count);

        reference_residual_add(reference, a->values, b->values, count);
        RUN(bench, residual_add, count, .y = y->data, .a = a->data, .b = b->data);
        EXPECT(bench, y, reference, 1e-7);
    }
}

KERNEL_TEST(bias_residual_follows_its_reference)
{
    static const int widths[] = { 32, 64, 96, 128, 768 };
    static const int row_counts[] = { 1, 5, 64, 197 };

    for (size_t i = 0; i < 3 * ARRAY_SIZE(widths) * ARRAY_SIZE(row_counts); i++) {
        int width = widths[i / 3 % ARRAY_SIZE(widths)];
        int rows = row_counts[i / 3 / ARRAY_SIZE(widths)];
        long count = rows * width;

        workbench_case(bench, "bias_residual: rows %d, width %d, y is %s", rows, width,
                       i % 3 == 0   ? "itself"
                       : i % 3 == 1 ? "a"
                                    : "b");
        struct tensor *a = tensor_normal(bench, REAL, count, 0, 1);
        struct tensor *b = tensor_normal(bench, REAL, count, 0, 1);
        struct tensor *bias = tensor_normal(bench, REAL, width, 0, 1);
        struct tensor *const outputs[] = { tensor_output(bench, REAL, count), a, b };
        struct tensor *y = outputs[i % 3];
        double *reference = workbench_doubles(bench, count);

        reference_bias_residual(reference, a->values, b->values, bias->values, rows, width);
        RUN(bench, bias_residual, rows, .y = y->data, .a = a->data, .b = b->data,
            .bias = bias->data, .width = width);
        EXPECT(bench, y, reference, 3e-7);
    }
}
