/* The residual connection. */
#include "tests/kernels/families.h"
#include "tests/kernels/references.h"

static void residual_add_follows_its_reference(void **state)
{
    struct workbench *bench = *state;
    static const long counts[] = { 32, 96, 5 * 64, 64 * 128, 197 * 768 };

    for (size_t i = 0; i < 3 * ARRAY_SIZE(counts); i++) {
        long count = counts[i / 3];

        workbench_case(bench, "residual_add: count %ld, y is %s", count,
                       i % 3 == 0   ? "itself"
                       : i % 3 == 1 ? "a"
                                    : "b");
        struct tensor *a = tensor_normal(bench, REAL, count, 0, 1);
        struct tensor *b = tensor_normal(bench, REAL, count, 0, 1);
        struct tensor *y = i % 3 == 0 ? tensor_output(bench, REAL, count) : i % 3 == 1 ? a : b;
        double *reference = workbench_doubles(bench, count);

        reference_residual_add(reference, a->values, b->values, count);
        RUN(bench, residual_add, count, .y = y->data, .a = a->data, .b = b->data);
        EXPECT(bench, y, reference, 1e-7);
        workbench_settle(bench);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(residual_add_follows_its_reference),
};

const struct kernel_family residual_family = { "residual", tests, ARRAY_SIZE(tests) };
