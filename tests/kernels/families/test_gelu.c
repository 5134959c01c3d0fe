/* GELU, alone and with the bias. */
#include "tests/kernels/families.h"
#include "tests/kernels/references.h"

#include <math.h>

static const int widths[] = { 32, 64, 96, 128, 768 };
static const int row_counts[] = { 1, 5, 64, 197 };
enum { SHAPES = sizeof widths / sizeof widths[0] * 4 };

/* Inputs of case `i`, and the bias in every second one. Some are far out, where tanh is 1 to the
 * last bit and x^3 large. */
struct activations {
    struct tensor *x, *bias;
    int rows, width;
};

static struct activations activations_make(struct workbench *bench, size_t i, bool with_bias)
{
    struct activations a = { .rows = row_counts[i % 4], .width = widths[i / 4] };

    workbench_case(bench, "%sgelu: rows %d, width %d", with_bias ? "bias_" : "", a.rows, a.width);
    a.x = tensor_normal(bench, REAL, a.rows * a.width, 0, 2);
    for (int j = 0; j < a.rows * a.width; j += 7) a.x->values[j] *= 5;
    tensor_store(bench, a.x);
    a.bias = with_bias ? tensor_normal(bench, REAL, a.width, 0, 1) : NULL;
    return a;
}

KERNEL_TEST(gelu_forward_follows_its_reference)
{
    for (size_t i = 0; i < 2 * SHAPES; i++) {
        struct activations a = activations_make(bench, i / 2, i % 2);
        long count = a.rows * a.width;
        struct tensor *y = tensor_output(bench, REAL, count);
        double *reference = workbench_doubles(bench, count);

        reference_gelu_forward(reference, a.x->values, a.bias ? a.bias->values : NULL, a.rows,
                               a.width);
        if (a.bias)
            RUN(bench, bias_gelu_forward, a.rows, .y = y->data, .x = a.x->data,
                .bias = a.bias->data, .width = a.width);
        else
            RUN(bench, gelu_forward, count, .y = y->data, .x = a.x->data);
        EXPECT(bench, y, reference, 3e-7);
    }
}

KERNEL_TEST(gelu_backward_follows_its_reference)
{
    for (size_t i = 0; i < 4 * SHAPES; i++) {
        bool in_place = i / 2 % 2;
        struct activations a = activations_make(bench, i / 4, i % 2);
        long count = a.rows * a.width;
        struct tensor *dy = tensor_normal(bench, REAL, count, 0, 1);
        struct tensor *dx = in_place ? dy : tensor_output(bench, REAL, count);
        double *reference = workbench_doubles(bench, count);

        reference_gelu_backward(reference, dy->values, a.x->values, a.bias ? a.bias->values : NULL,
                                a.rows, a.width);
        if (a.bias)
            RUN(bench, bias_gelu_backward, a.rows, .dx = dx->data, .dy = dy->data, .x = a.x->data,
                .bias = a.bias->data, .width = a.width);
        else
            RUN(bench, gelu_backward, count, .dx = dx->data, .dy = dy->data, .x = a.x->data);
        EXPECT(bench, dx, reference, 1e-6);
    }
}

/* The tanh form, to ten digits; far out GELU is x and 0. */
KERNEL_TEST(gelu_known_answers)
{
    static const struct {
        double x, y;
    } known[] = {
        { 0, 0 },           { 1, 0.8411919906 }, { -1, -0.1588080094 },
        { 2, 1.954597694 }, { 0.5, 0.345714 },   { 20, 20 },
        { -20, 0 },         { 1000, 1000 },      { -1000, 0 },
    };
    enum { COUNT = 32 };

    workbench_case(bench, "known answers");
    struct tensor *x = tensor_output(bench, REAL, COUNT);
    struct tensor *dy = tensor_output(bench, REAL, COUNT);
    struct tensor *y = tensor_output(bench, REAL, COUNT);
    struct tensor *dx = tensor_output(bench, REAL, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        x->values[i] = known[i % ARRAY_SIZE(known)].x;
        dy->values[i] = 1;
    }
    tensor_store(bench, x);
    tensor_store(bench, dy);
    RUN(bench, gelu_forward, COUNT, .y = y->data, .x = x->data);
    RUN(bench, gelu_backward, COUNT, .dx = dx->data, .dy = dy->data, .x = x->data);
    tensor_fetch(bench, y, NULL);
    tensor_fetch(bench, dx, NULL);

    double unit = fmax(workbench_unit(bench, REAL), 1e-6);
    for (size_t i = 0; i < COUNT; i++) {
        double from = known[i % ARRAY_SIZE(known)].x, want = known[i % ARRAY_SIZE(known)].y;
        WITHIN(bench, "gelu", fabs(y->values[i] - want), unit * fabs(want) + 1e-6);
        if (fabs(from) >= 20)
            WITHIN(bench, "gelu'", fabs(dx->values[i] - (from > 0)), 1e-6);
        if (from == 0)
            WITHIN(bench, "gelu'(0)", fabs(dx->values[i] - 0.5), 1e-6);
    }
}

struct gelu_slope {
    double *x, *y;
    const double *bias, *dy;
    int rows, width;
};

static double gelu_loss(void *context)
{
    const struct gelu_slope *slope = context;

    reference_gelu_forward(slope->y, slope->x, slope->bias, slope->rows, slope->width);
    return reference_dot(slope->y, slope->dy, slope->rows * slope->width);
}

KERNEL_TEST(gelu_backward_reference_is_the_slope_of_forward)
{
    struct activations a = activations_make(bench, 1, true);
    long count = a.rows * a.width;
    struct tensor *dy = tensor_normal(bench, FLOAT, count, 0, 1);
    double *dx = workbench_doubles(bench, count);
    struct gelu_slope slope = {
        a.x->values, workbench_doubles(bench, count), a.bias->values, dy->values, a.rows, a.width,
    };

    reference_gelu_backward(dx, dy->values, a.x->values, a.bias->values, a.rows, a.width);
    WITHIN(bench, "slope",
           reference_slope_error(a.x->values, dx, count, gelu_loss, &slope, &bench->random), 1e-7);
}
