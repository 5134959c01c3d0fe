/* Layer normalisation, alone and with the residual connection. */
#include "tests/kernels/families.h"
#include "tests/kernels/references.h"

#include <math.h>

static const int widths[] = { 32, 64, 96, 128, 768 };
static const int row_counts[] = { 1, 5, 64, 197 };
enum { SHAPES = sizeof widths / sizeof widths[0] * 4 };

/* The tensors of every case: inputs, and the statistics of x as a forward pass would have kept
 * them. */
struct norm {
    struct tensor *x, *dy, *weight, *bias, *mean, *rstd;
    int rows, width;
    long count;
};

static struct norm norm_make(struct workbench *bench, size_t i, const char *kernel)
{
    struct norm n = { .rows = row_counts[i % 4], .width = widths[i / 4] };

    n.count = (long)n.rows * n.width;
    workbench_case(bench, "%s: rows %d, width %d", kernel, n.rows, n.width);
    n.x = tensor_normal(bench, REAL, n.count, 0.3, 1.5);
    n.dy = tensor_normal(bench, REAL, n.count, 0.1, 1);
    n.weight = tensor_normal(bench, REAL, n.width, 1, 0.3);
    n.bias = tensor_normal(bench, REAL, n.width, 0, 0.5);
    n.mean = tensor_output(bench, FLOAT, n.rows);
    n.rstd = tensor_output(bench, FLOAT, n.rows);
    return n;
}

/* Backward's mean and rstd: the reference's, as fp32 keeps them. */
static void norm_keep_statistics(struct workbench *bench, struct norm *n)
{
    reference_layernorm_forward(workbench_doubles(bench, n->count), n->mean->values,
                                n->rstd->values, n->x->values, n->weight->values, n->bias->values,
                                n->rows, n->width);
    tensor_store(bench, n->mean);
    tensor_store(bench, n->rstd);
}

/* Mean and rstd of every row. A mean is as good as it is small beside the deviation, so it is
 * measured in deviations. */
static void check_statistics(struct workbench *bench, const struct norm *n, const double *mean,
                             const double *rstd, double mean_limit, double rstd_limit)
{
    tensor_fetch(bench, n->mean, NULL);
    tensor_fetch(bench, n->rstd, NULL);
    for (int row = 0; row < n->rows; row++) {
        WITHIN(bench, "mean", fabs(n->mean->values[row] - mean[row]) * rstd[row], mean_limit);
        WITHIN(bench, "rstd", fabs(n->rstd->values[row] / rstd[row] - 1), rstd_limit);
    }
}

/* Runs forward on n->x and compares all three outputs. */
static void check_forward(struct workbench *bench, const struct norm *n, double y_limit,
                          double mean_limit, double rstd_limit)
{
    struct tensor *y = tensor_output(bench, REAL, n->count);
    double *reference = workbench_doubles(bench, n->count);
    double *mean = workbench_doubles(bench, n->rows), *rstd = workbench_doubles(bench, n->rows);

    reference_layernorm_forward(reference, mean, rstd, n->x->values, n->weight->values,
                                n->bias->values, n->rows, n->width);
    RUN(bench, layernorm_forward, n->rows, .y = y->data, .mean = n->mean->data,
        .rstd = n->rstd->data, .x = n->x->data, .weight = n->weight->data, .bias = n->bias->data,
        .width = n->width);
    EXPECT(bench, y, reference, y_limit);
    check_statistics(bench, n, mean, rstd, mean_limit, rstd_limit);
}

KERNEL_TEST(layernorm_forward_follows_its_reference)
{
    for (size_t i = 0; i < SHAPES; i++) {
        struct norm n = norm_make(bench, i, "layernorm_forward");
        check_forward(bench, &n, 1e-6, 1e-6, 1e-6);
    }
}

/* A mean of hundreds of deviations: mean(x^2) - mean(x)^2 would lose a tenth of the variance. fp32
 * has the mean to a few of its last places, 6e-5 each, which is the error allowed. */
KERNEL_TEST(layernorm_forward_survives_a_large_mean)
{
    for (size_t i = 0; i < SHAPES; i++) {
        struct norm n = norm_make(bench, i, "layernorm_forward, large mean");
        for (long j = 0; j < n.count; j++) n.x->values[j] += 1000;
        tensor_store(bench, n.x);
        check_forward(bench, &n, 1e-3, 1e-3, 1e-5);
    }
}

/* Without variance only the 1e-5 is left, and y is the bias. */
KERNEL_TEST(layernorm_of_equal_elements_is_the_bias)
{
    for (size_t i = 0; i < SHAPES; i++) {
        struct norm n = norm_make(bench, i, "layernorm_forward, equal elements");
        struct tensor *y = tensor_output(bench, REAL, n.count);
        double *reference = workbench_doubles(bench, n.count);
        double *mean = workbench_doubles(bench, n.rows), *rstd = workbench_doubles(bench, n.rows);

        for (long j = 0; j < n.count; j++) {
            n.x->values[j] = (double)(j / n.width % 5) - 2;
            reference[j] = n.bias->values[j % n.width];
        }
        tensor_store(bench, n.x);
        for (int row = 0; row < n.rows; row++) {
            mean[row] = row % 5 - 2;
            rstd[row] = 316.22776601683793;
        }
        RUN(bench, layernorm_forward, n.rows, .y = y->data, .mean = n.mean->data,
            .rstd = n.rstd->data, .x = n.x->data, .weight = n.weight->data, .bias = n.bias->data,
            .width = n.width);
        /* A last bit of the mean, 2e-7, times rstd. */
        EXPECT(bench, y, reference, 1e-4);
        check_statistics(bench, &n, mean, rstd, 1e-4, 1e-6);
    }
}

KERNEL_TEST(layernorm_backward_follows_its_reference)
{
    for (size_t i = 0; i < SHAPES; i++) {
        struct norm n = norm_make(bench, i, "layernorm_backward");
        struct tensor *dx = tensor_output(bench, REAL, n.count);
        double *reference = workbench_doubles(bench, n.count);

        norm_keep_statistics(bench, &n);
        reference_layernorm_backward(reference, n.x->values, n.dy->values, n.weight->values,
                                     n.mean->values, n.rstd->values, n.rows, n.width);
        RUN(bench, layernorm_backward, n.rows, .dx = dx->data, .x = n.x->data, .dy = n.dy->data,
            .weight = n.weight->data, .mean = n.mean->data, .rstd = n.rstd->data, .width = n.width);
        EXPECT(bench, dx, reference, 2e-6);
    }
}

KERNEL_TEST(layernorm_backward_weight_follows_its_reference)
{
    static const int chunks[] = { 1, 7, 64, 300 };

    for (size_t i = 0; i < SHAPES * ARRAY_SIZE(chunks); i++) {
        int chunk = chunks[i % ARRAY_SIZE(chunks)];
        struct norm n = norm_make(bench, i / ARRAY_SIZE(chunks), "layernorm_backward_weight");
        int columns = i % 3 == 0 ? n.width : ROW_MULTIPLE * (int)(i % 3);
        int parts = (n.rows + chunk - 1) / chunk, tiles = (n.width + columns - 1) / columns;
        struct tensor *dweight = tensor_output(bench, FLOAT, parts * n.width);
        struct tensor *dbias = tensor_output(bench, FLOAT, parts * n.width);
        double *dweight_reference = workbench_doubles(bench, parts * n.width);
        double *dbias_reference = workbench_doubles(bench, parts * n.width);

        norm_keep_statistics(bench, &n);
        reference_layernorm_backward_weight(dweight_reference, dbias_reference, n.x->values,
                                            n.dy->values, n.mean->values, n.rstd->values, n.width,
                                            n.rows, chunk);
        RUN(bench, layernorm_backward_weight, parts * tiles, .dweight = dweight->data,
            .dbias = dbias->data, .x = n.x->data, .dy = n.dy->data, .mean = n.mean->data,
            .rstd = n.rstd->data, .width = n.width, .rows = n.rows, .chunk = chunk,
            .columns = columns);
        EXPECT(bench, dweight, dweight_reference, 2e-6);
        EXPECT(bench, dbias, dbias_reference, 2e-6);
    }
}

/* Case i is every combination of: a bias of the branch or none; sum apart, over a, over b. */
KERNEL_TEST(residual_layernorm_forward_follows_its_reference)
{
    for (size_t i = 0; i < 6 * SHAPES; i++) {
        struct norm n = norm_make(bench, i / 6, "residual_layernorm_forward");
        struct tensor *b = tensor_normal(bench, REAL, n.count, 0, 1);
        struct tensor *branch_bias = i % 2 ? tensor_normal(bench, REAL, n.width, 0, 0.5) : NULL;
        struct tensor *const sums[] = { tensor_output(bench, REAL, n.count), n.x, b };
        struct tensor *sum = sums[i / 2 % 3];
        struct tensor *y = tensor_output(bench, REAL, n.count);
        double *sum_reference = workbench_doubles(bench, n.count);
        double *reference = workbench_doubles(bench, n.count);
        double *mean = workbench_doubles(bench, n.rows), *rstd = workbench_doubles(bench, n.rows);

        reference_residual_add(sum_reference, n.x->values, b->values, n.count);
        if (branch_bias)
            reference_bias_add(sum_reference, sum_reference, branch_bias->values, n.rows, n.width);
        RUN(bench, residual_layernorm_forward, n.rows, .sum = sum->data, .y = y->data,
            .mean = n.mean->data, .rstd = n.rstd->data, .a = n.x->data, .b = b->data,
            .branch_bias = branch_bias ? branch_bias->data : NULL, .weight = n.weight->data,
            .bias = n.bias->data, .width = n.width);
        EXPECT(bench, sum, sum_reference, 2e-7);

        /* The norm is of the sum as stored: it is what backward will see. */
        reference_layernorm_forward(reference, mean, rstd, sum->values, n.weight->values,
                                    n.bias->values, n.rows, n.width);
        EXPECT(bench, y, reference, 1e-6);
        check_statistics(bench, &n, mean, rstd, 1e-6, 1e-6);
    }
}

KERNEL_TEST(residual_layernorm_backward_follows_its_reference)
{
    for (size_t i = 0; i < 2 * SHAPES; i++) {
        struct norm n = norm_make(bench, i / 2, "residual_layernorm_backward");
        struct tensor *add = tensor_normal(bench, REAL, n.count, 0, 1);
        struct tensor *dx = i % 2 ? add : tensor_output(bench, REAL, n.count);
        double *reference = workbench_doubles(bench, n.count);

        norm_keep_statistics(bench, &n);
        reference_layernorm_backward(reference, n.x->values, n.dy->values, n.weight->values,
                                     n.mean->values, n.rstd->values, n.rows, n.width);
        reference_residual_add(reference, reference, add->values, n.count);
        RUN(bench, residual_layernorm_backward, n.rows, .dx = dx->data, .x = n.x->data,
            .dy = n.dy->data, .add = add->data, .weight = n.weight->data, .mean = n.mean->data,
            .rstd = n.rstd->data, .width = n.width);
        EXPECT(bench, dx, reference, 2e-6);
    }
}

struct norm_slope {
    struct norm *n;
    double *y, *mean, *rstd;
};

static double norm_loss(void *context)
{
    const struct norm_slope *slope = context;
    const struct norm *n = slope->n;

    reference_layernorm_forward(slope->y, slope->mean, slope->rstd, n->x->values, n->weight->values,
                                n->bias->values, n->rows, n->width);
    return reference_dot(slope->y, n->dy->values, n->count);
}

KERNEL_TEST(layernorm_backward_references_are_the_slopes_of_forward)
{
    struct norm n = norm_make(bench, 1, "references of layernorm");
    double *gradient = workbench_doubles(bench, n.count);
    double *dweight = workbench_doubles(bench, 3 * n.width);
    double *dbias = workbench_doubles(bench, 3 * n.width);
    double *dweight_partial = workbench_doubles(bench, 3 * n.width);
    double *dbias_partial = workbench_doubles(bench, 3 * n.width);
    double *mean = workbench_doubles(bench, n.rows), *rstd = workbench_doubles(bench, n.rows);
    struct norm_slope slope = { &n, workbench_doubles(bench, n.count), mean, rstd };

    norm_loss(&slope);
    reference_layernorm_backward(gradient, n.x->values, n.dy->values, n.weight->values, mean, rstd,
                                 n.rows, n.width);
    reference_layernorm_backward_weight(dweight_partial, dbias_partial, n.x->values, n.dy->values,
                                        mean, rstd, n.width, n.rows, 2);
    reference_columns_finish(dweight, dweight_partial, n.width, 3, false);
    reference_columns_finish(dbias, dbias_partial, n.width, 3, false);

    WITHIN(bench, "slope of x",
           reference_slope_error(n.x->values, gradient, n.count, norm_loss, &slope, &bench->random),
           1e-7);
    WITHIN(bench, "slope of the weight",
           reference_slope_error(n.weight->values, dweight, n.width, norm_loss, &slope,
                                 &bench->random),
           1e-7);
    WITHIN(bench, "slope of the bias",
           reference_slope_error(n.bias->values, dbias, n.width, norm_loss, &slope, &bench->random),
           1e-7);
}
