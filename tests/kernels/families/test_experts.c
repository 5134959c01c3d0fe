/* The mixture of experts: choices, places, the way there and back. */
#include "tests/kernels/families.h"
#include "tests/kernels/references.h"

#include <math.h>

static const struct {
    int rows, experts, width;
} shapes[] = {
    { 1, 2, 32 }, { 5, 3, 64 }, { 33, 8, 96 }, { 197, 32, 32 }, { 260, 40, 768 }, { 1024, 2, 64 },
};

static int padded(int experts)
{
    return (experts + ROW_MULTIPLE - 1) / ROW_MULTIPLE * ROW_MULTIPLE;
}

/* --- Routing --- */

struct routed {
    struct tensor *logits, *bias;
    int rows, width, experts;
};

/* Random logits and bias; what is no expert is NaN. */
static struct routed routed_make(struct workbench *bench, size_t i, double deviation)
{
    struct routed routed = { .rows = shapes[i].rows, .experts = shapes[i].experts };

    routed.width = padded(routed.experts);
    workbench_case(bench, "route: rows %d, experts %d", routed.rows, routed.experts);
    routed.logits = tensor_normal(bench, REAL, routed.rows * routed.width, 0, 1);
    routed.bias = tensor_normal(bench, FLOAT, routed.width, 0, deviation);
    for (int j = 0; j < routed.rows * routed.width; j++)
        if (j % routed.width >= routed.experts)
            routed.logits->values[j] = NAN;
    for (int j = routed.experts; j < routed.width; j++) routed.bias->values[j] = NAN;
    tensor_store(bench, routed.logits);
    tensor_store(bench, routed.bias);
    return routed;
}

static double gate_of(const double *logits, int experts, int expert)
{
    double sum = 0;

    for (int i = 0; i < experts; i++) sum += exp(logits[i] - logits[expert]);
    return 1 / sum;
}

static double score_of(const struct routed *routed, int row, int expert)
{
    const double *logits = routed->logits->values + (size_t)row * (size_t)routed->width;

    return gate_of(logits, routed->experts, expert) + routed->bias->values[expert];
}

static int best_expert(const struct routed *routed, int row)
{
    int best = 0;

    for (int i = 1; i < routed->experts; i++)
        if (score_of(routed, row, i) > score_of(routed, row, best))
            best = i;
    return best;
}

/* The kernel's own choice `own` is as good where two are as good as equal. */
static int chosen_expert(const struct routed *routed, int row, int own)
{
    int best = best_expert(routed, row);

    if (own < 0 || own >= routed->experts)
        return best;
    return score_of(routed, row, own) > score_of(routed, row, best) - 1e-5 ? own : best;
}

KERNEL_TEST(a_token_goes_where_gate_and_bias_are_largest)
{
    for (size_t i = 0; i < 2 * ARRAY_SIZE(shapes); i++) {
        struct routed r = routed_make(bench, i / 2, i % 2 ? 0.2 : 0);
        struct tensor *expert = tensor_output(bench, INT32, r.rows);
        struct tensor *gate = tensor_output(bench, FLOAT, r.rows);
        double *experts = workbench_doubles(bench, r.rows);
        double *gates = workbench_doubles(bench, r.rows);
        int32_t own[1024];

        RUN(bench, route_tokens, r.rows, .expert = expert->data, .gate = gate->data,
            .logits = r.logits->data, .bias = r.bias->data, .width = r.width, .experts = r.experts);
        tensor_fetch(bench, expert, own);
        for (int row = 0; row < r.rows; row++) {
            int chosen = chosen_expert(&r, row, own[row]);
            experts[row] = chosen;
            gates[row] =
                gate_of(r.logits->values + (size_t)row * (size_t)r.width, r.experts, chosen);
        }
        EXPECT(bench, expert, experts, 0);
        EXPECT(bench, gate, gates, 1e-6);
    }
}

KERNEL_TEST(among_equal_experts_the_first_takes_the_token)
{
    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        struct routed r = routed_make(bench, i, 0);
        struct tensor *expert = tensor_output(bench, INT32, r.rows);
        struct tensor *gate = tensor_output(bench, FLOAT, r.rows);
        double *experts = workbench_doubles(bench, r.rows);
        double *gates = workbench_doubles(bench, r.rows);

        for (int row = 0; row < r.rows; row++) {
            double *logits = r.logits->values + (size_t)row * (size_t)r.width;
            experts[row] = row % r.experts;
            for (int j = 0; j < r.experts; j++) logits[j] = j < row % r.experts ? -1 : 1;
            gates[row] = gate_of(logits, r.experts, row % r.experts);
        }
        tensor_store(bench, r.logits);
        RUN(bench, route_tokens, r.rows, .expert = expert->data, .gate = gate->data,
            .logits = r.logits->data, .bias = r.bias->data, .width = r.width, .experts = r.experts);
        EXPECT(bench, expert, experts, 0);
        EXPECT(bench, gate, gates, 1e-6);
    }
}

/* `sizes`, unless NULL: of the terms, of which 1 - p leaves little if p is nearly 1. */
static void reference_route_backward(double *dlogits, double *sizes, const struct routed *r,
                                     const double *dgate, const double *expert)
{
    for (int row = 0; row < r->rows; row++) {
        const double *logits = r->logits->values + (size_t)row * (size_t)r->width;
        int chosen = (int)expert[row];
        double scale = dgate[row] * gate_of(logits, r->experts, chosen);
        for (int j = 0; j < r->experts; j++) {
            double p = gate_of(logits, r->experts, j);
            dlogits[row * r->width + j] = scale * ((j == chosen) - p);
            if (sizes != NULL)
                sizes[row * r->width + j] = fabs(scale) * ((j == chosen) + p);
        }
    }
}

/* exp(x) errs by 2 |x| + 4 units of 2^-24, relative: x by its subtraction and by the product with
 * log2(e), the function by two units in the last place. Logits are normal, so |x| stays below 8.
 * The gate and p have an exponential and a sum of them each. */
static const double GATE_LIMIT = 4 * (2 * 8 + 4) * 0x1p-24;

KERNEL_TEST(the_gate_has_its_gradient)
{
    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        struct routed r = routed_make(bench, i, 0);
        struct tensor *expert = tensor_below(bench, r.rows, (uint32_t)r.experts);
        struct tensor *dgate = tensor_normal(bench, FLOAT, r.rows, 0, 1);
        struct tensor *dlogits = tensor_output(bench, REAL, r.rows * r.width);
        double *reference = workbench_doubles(bench, r.rows * r.width);
        double *sizes = workbench_doubles(bench, r.rows * r.width);

        reference_route_backward(reference, sizes, &r, dgate->values, expert->values);
        RUN(bench, route_tokens_backward, r.rows, .dlogits = dlogits->data,
            .logits = r.logits->data, .dgate = dgate->data, .expert = expert->data,
            .width = r.width, .experts = r.experts);
        EXPECT_SIZED(bench, dlogits, reference, sizes, GATE_LIMIT);
    }
}

struct gate_slope {
    const struct routed *routed;
    const double *dgate, *expert;
};

static double weighted_gates(void *context)
{
    const struct gate_slope *slope = context;
    const struct routed *r = slope->routed;
    double sum = 0;

    for (int row = 0; row < r->rows; row++)
        sum += slope->dgate[row] * gate_of(r->logits->values + (size_t)row * (size_t)r->width,
                                           r->experts, (int)slope->expert[row]);
    return sum;
}

KERNEL_TEST(the_reference_is_the_slope_of_the_gates)
{
    struct routed r = routed_make(bench, 2, 0);
    struct tensor *expert = tensor_below(bench, r.rows, (uint32_t)r.experts);
    struct tensor *dgate = tensor_normal(bench, FLOAT, r.rows, 0, 1);
    double *dlogits = workbench_doubles(bench, r.rows * r.width);
    struct gate_slope slope = { &r, dgate->values, expert->values };

    reference_route_backward(dlogits, NULL, &r, dgate->values, expert->values);
    WITHIN(bench, "slope",
           reference_slope_error(r.logits->values, dlogits, r.rows * r.width, weighted_gates,
                                 &slope, &bench->random),
           1e-7);
}

/* --- The way there and back --- */

/* Rows sorted by expert, in order. */
static void reference_places(double *place, const double *expert, int rows)
{
    int next = 0;

    for (int e = 0; next < rows; e++)
        for (int row = 0; row < rows; row++)
            if ((int)expert[row] == e)
                place[row] = next++;
}

/* In every other case all tokens go to one expert. */
static struct tensor *experts_make(struct workbench *bench, size_t i)
{
    struct tensor *expert =
        tensor_below(bench, shapes[i / 2].rows, (uint32_t)shapes[i / 2].experts);

    for (long row = 0; i % 2 && row < expert->count; row++)
        expert->values[row] = shapes[i / 2].experts - 1;
    tensor_store(bench, expert);
    return expert;
}

KERNEL_TEST(tokens_are_sorted_by_expert_and_counted)
{
    for (size_t i = 0; i < 2 * ARRAY_SIZE(shapes); i++) {
        int rows = shapes[i / 2].rows, width = shapes[i / 2].width;
        int experts = shapes[i / 2].experts;

        workbench_case(bench, "dispatch: rows %d, width %d", rows, width);
        struct tensor *expert = experts_make(bench, i);
        struct tensor *x = tensor_normal(bench, REAL, rows * width, 0, 1);
        struct tensor *y = tensor_output(bench, REAL, rows * width);
        struct tensor *place = tensor_output(bench, INT32, rows);
        struct tensor *counts = tensor_output(bench, FLOAT, experts);
        double *places = workbench_doubles(bench, rows),
               *number = workbench_doubles(bench, experts);
        double *sorted = workbench_doubles(bench, rows * width);

        reference_places(places, expert->values, rows);
        for (int row = 0; row < rows; row++) {
            number[(int)expert->values[row]]++;
            memcpy(sorted + (size_t)places[row] * (size_t)width,
                   x->values + (size_t)row * (size_t)width, (size_t)width * sizeof *sorted);
        }
        RUN(bench, dispatch_tokens, rows, .place = place->data, .y = y->data, .x = x->data,
            .expert = expert->data, .width = width, .count = rows);
        RUN(bench, count_tokens, experts, .counts = counts->data, .expert = expert->data,
            .count = rows, .width = ROW_MULTIPLE);
        EXPECT(bench, place, places, 0);
        EXPECT(bench, y, sorted, 0);
        EXPECT(bench, counts, number, 0);
    }
}

static struct tensor *places_make(struct workbench *bench, size_t i)
{
    struct tensor *expert = experts_make(bench, i);
    struct tensor *place = tensor_output(bench, INT32, expert->count);

    reference_places(place->values, expert->values, (int)expert->count);
    tensor_store(bench, place);
    return place;
}

KERNEL_TEST(what_comes_back_is_weighted)
{
    for (size_t i = 0; i < 2 * ARRAY_SIZE(shapes); i++) {
        int rows = shapes[i / 2].rows, width = shapes[i / 2].width;
        bool weighted = i % 2 == 0;

        workbench_case(bench, "combine: rows %d, width %d", rows, width);
        struct tensor *place = places_make(bench, i);
        struct tensor *x = tensor_normal(bench, REAL, rows * width, 0, 1);
        struct tensor *gate = tensor_normal(bench, FLOAT, rows, 0, 1);
        struct tensor *y = tensor_output(bench, REAL, rows * width);
        double *reference = workbench_doubles(bench, rows * width);

        for (int j = 0; j < rows * width; j++)
            reference[j] = (weighted ? gate->values[j / width] : 1) *
                           x->values[(int)place->values[j / width] * width + j % width];
        RUN(bench, combine_tokens, rows, .y = y->data, .x = x->data, .place = place->data,
            .gate = weighted ? gate->data : NULL, .width = width);
        EXPECT(bench, y, reference, 1e-7);
    }
}

KERNEL_TEST(weights_and_tokens_have_their_gradients)
{
    for (size_t i = 0; i < 2 * ARRAY_SIZE(shapes); i++) {
        int rows = shapes[i / 2].rows, width = shapes[i / 2].width;

        workbench_case(bench, "combine backward: rows %d, width %d", rows, width);
        struct tensor *place = places_make(bench, i);
        struct tensor *x = tensor_normal(bench, REAL, rows * width, 0, 1);
        struct tensor *dy = tensor_normal(bench, REAL, rows * width, 0, 1);
        struct tensor *gate = tensor_normal(bench, FLOAT, rows, 0, 1);
        struct tensor *dx = tensor_output(bench, REAL, rows * width);
        struct tensor *dgate = tensor_output(bench, FLOAT, rows);
        double *dxs = workbench_doubles(bench, rows * width);
        double *dgates = workbench_doubles(bench, rows), *sizes = workbench_doubles(bench, rows);

        for (int row = 0; row < rows; row++) {
            size_t here = (size_t)row * (size_t)width;
            size_t there = (size_t)place->values[row] * (size_t)width;
            for (size_t c = 0; c < (size_t)width; c++)
                dxs[there + c] = gate->values[row] * dy->values[here + c];
            dgates[row] = reference_dot(dy->values + here, x->values + there, width);
            sizes[row] = width;
        }
        RUN(bench, combine_tokens_backward, rows, .dx = dx->data, .dgate = dgate->data,
            .dy = dy->data, .x = x->data, .place = place->data, .gate = gate->data, .width = width);
        EXPECT(bench, dx, dxs, 1e-7);
        EXPECT_SIZED(bench, dgate, dgates, sizes, 1e-6);
    }
}

/* --- Balancing --- */

KERNEL_TEST(the_bias_rises_for_experts_with_few_tokens)
{
    static const int ranks[] = { 1, 2, 8 };

    for (size_t i = 0; i < ARRAY_SIZE(shapes) * ARRAY_SIZE(ranks); i++) {
        int experts = shapes[i / ARRAY_SIZE(ranks)].experts, of = ranks[i % ARRAY_SIZE(ranks)];
        double mean = 0;

        workbench_case(bench, "balance: experts %d, ranks %d", experts, of);
        struct tensor *tokens = tensor_below(bench, experts * of, 1000);
        struct tensor *counts = tensor_output(bench, FLOAT, experts * of);
        struct tensor *bias = tensor_normal(bench, FLOAT, experts, 0, 0.1);
        double *reference = workbench_doubles(bench, experts);
        double *sizes = workbench_doubles(bench, experts);

        for (int j = 0; j < experts * of; j++) {
            counts->values[j] = tokens->values[j] + 1;
            reference[j % experts] += counts->values[j];
            mean += counts->values[j] / experts;
        }
        tensor_store(bench, counts);
        for (int j = 0; j < experts; j++) {
            sizes[j] = 1;
            reference[j] = bias->values[j] + (double)0.25f * (1 - reference[j] / mean);
        }
        RUN(bench, balance_experts, 1, .bias = bias->data, .counts = counts->data, .rate = 0.25f,
            .experts = experts, .ranks = of, .width = ROW_MULTIPLE);
        EXPECT_SIZED(bench, bias, reference, sizes, 1e-6);
    }
}
