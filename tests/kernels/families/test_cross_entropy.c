/* Cross-entropy and the loss's way to the log. */
#include "tests/kernels/families.h"
#include "tests/kernels/references.h"

#include <math.h>

static const int class_counts[] = { 1, 10, 32, 33, 100, 768, 1000 };
static const int row_counts[] = { 1, 5, 64, 197 };

struct scored {
    struct tensor *logits, *labels;
    int rows, width, classes;
};

/* Case i of SHAPES: random logits and labels, NaN in the columns that are no class. */
enum { SHAPES = sizeof class_counts / sizeof class_counts[0] * 4 };
static struct scored scored_make(struct workbench *bench, size_t i, double deviation)
{
    struct scored scored = { .classes = class_counts[i / 4], .rows = row_counts[i % 4] };

    scored.width = (scored.classes + ROW_MULTIPLE - 1) / ROW_MULTIPLE * ROW_MULTIPLE;
    workbench_case(bench, "cross_entropy: rows %d, classes %d", scored.rows, scored.classes);
    scored.logits = tensor_normal(bench, REAL, scored.rows * scored.width, 0, deviation);
    scored.labels = tensor_below(bench, scored.rows, (uint32_t)scored.classes);
    for (int j = 0; j < scored.rows * scored.width; j++)
        if (j % scored.width >= scored.classes)
            scored.logits->values[j] = NAN;
    tensor_store(bench, scored.logits);
    return scored;
}

/* The loss is the logarithm of a sum of at least 1, known to a last place of 1 however small it
 * is. */
static void expect_loss(struct workbench *bench, struct tensor *loss, const double *reference,
                        int rows)
{
    double *sizes = workbench_doubles(bench, rows);

    for (int i = 0; i < rows; i++) sizes[i] = 1 + fabs(reference[i]);
    EXPECT_SIZED(bench, loss, reference, sizes, 5e-7);
}

KERNEL_TEST(cross_entropy_forward_follows_its_reference)
{
    for (size_t i = 0; i < SHAPES; i++) {
        struct scored s = scored_make(bench, i, 2);
        struct tensor *loss = tensor_output(bench, FLOAT, s.rows);
        double *reference = workbench_doubles(bench, s.rows);

        reference_cross_entropy_forward(reference, s.logits->values, s.labels->values, s.rows,
                                        s.width, s.classes);
        RUN(bench, cross_entropy_forward, s.rows, .loss = loss->data, .logits = s.logits->data,
            .labels = s.labels->data, .width = s.width, .classes = s.classes);
        expect_loss(bench, loss, reference, s.rows);
    }
}

KERNEL_TEST(cross_entropy_forward_survives_large_logits)
{
    for (size_t i = 0; i < SHAPES; i++) {
        struct scored s = scored_make(bench, i, 3000);
        struct tensor *loss = tensor_output(bench, FLOAT, s.rows);
        double *reference = workbench_doubles(bench, s.rows);

        reference_cross_entropy_forward(reference, s.logits->values, s.labels->values, s.rows,
                                        s.width, s.classes);
        RUN(bench, cross_entropy_forward, s.rows, .loss = loss->data, .logits = s.logits->data,
            .labels = s.labels->data, .width = s.width, .classes = s.classes);
        expect_loss(bench, loss, reference, s.rows);
    }
}

KERNEL_TEST(cross_entropy_of_equal_logits_is_the_logarithm_of_their_number)
{
    for (size_t i = 0; i < SHAPES; i++) {
        struct scored s = scored_make(bench, i, 1);
        struct tensor *loss = tensor_output(bench, FLOAT, s.rows);
        double *reference = workbench_doubles(bench, s.rows);

        for (int j = 0; j < s.rows; j++) reference[j] = log(s.classes);
        for (int j = 0; j < s.rows * s.width; j++)
            if (j % s.width < s.classes)
                s.logits->values[j] = -1.25;
        tensor_store(bench, s.logits);
        RUN(bench, cross_entropy_forward, s.rows, .loss = loss->data, .logits = s.logits->data,
            .labels = s.labels->data, .width = s.width, .classes = s.classes);
        expect_loss(bench, loss, reference, s.rows);
    }
}

/* The error that p may have, for a class whose logit is x below the largest, in units of 2^-24 of
 * its scale: exp(-x) by 2 x + 4 of them (test_experts), and the sum by the mean of that, in which x
 * is at most the entropy, log(classes), and by its additions, eight at once. The gradient, p less 1
 * or 0, is rounded by difference and scale. The difference of two large terms is small, so its own
 * size is no measure. */
static double *gradient_units(struct workbench *bench, const struct scored *s, double scale)
{
    double *units = workbench_doubles(bench, s->rows * s->width);
    double of_sum = 2 * log(s->classes) + 4 + s->classes / 8.0 + 3;

    for (int row = 0; row < s->rows; row++) {
        const double *logits = s->logits->values + (size_t)row * (size_t)s->width;
        double most = logits[0], sum = 0;
        for (int c = 0; c < s->classes; c++) most = fmax(most, logits[c]);
        for (int c = 0; c < s->classes; c++) sum += exp(logits[c] - most);
        for (int c = 0; c < s->classes; c++) {
            double x = most - logits[c], p = exp(-x) / sum;
            units[row * s->width + c] =
                scale * (p * (2 * x + 4 + of_sum) + 2 * (p + (c == (int)s->labels->values[row])));
        }
    }
    return units;
}

KERNEL_TEST(cross_entropy_backward_follows_its_reference)
{
    for (size_t i = 0; i < SHAPES; i++) {
        struct scored s = scored_make(bench, i, 2);
        struct step_state step = { .loss_scale = i % 2 ? 1024 : 1 };
        float scale = 1 / (3 * (float)s.rows);
        struct tensor *step_state = tensor_copy(bench, BYTE, &step, sizeof step);
        struct tensor *dlogits = tensor_output(bench, REAL, s.rows * s.width);
        double *reference = workbench_doubles(bench, s.rows * s.width);

        reference_cross_entropy_backward(reference, s.logits->values, s.labels->values,
                                         (double)scale * (double)step.loss_scale, s.rows, s.width,
                                         s.classes);
        RUN(bench, cross_entropy_backward, s.rows, .dlogits = dlogits->data,
            .logits = s.logits->data, .labels = s.labels->data, .state = step_state->data,
            .scale = scale, .width = s.width, .classes = s.classes);
        EXPECT_SIZED(bench, dlogits, reference,
                     gradient_units(bench, &s, (double)scale * (double)step.loss_scale), 0x1p-24);
        for (int j = 0; j < s.rows * s.width; j++)
            assert_true(j % s.width < s.classes || dlogits->values[j] == 0);
    }
}

/* About half of the rows, in order, with the same gradients as of all; the others keep what they
 * have. */
KERNEL_TEST(cross_entropy_backward_takes_the_rows_that_are_listed)
{
    for (size_t i = 0; i < SHAPES; i++) {
        struct scored s = scored_make(bench, i, 2);
        struct step_state step = { .loss_scale = 1 };
        struct tensor *step_state = tensor_copy(bench, BYTE, &step, sizeof step);
        struct tensor *rows = tensor_output(bench, INT32, s.rows);
        struct tensor *dlogits = tensor_normal(bench, REAL, s.rows * s.width, 0, 1);
        double *all = workbench_doubles(bench, s.rows * s.width);
        double *reference = workbench_doubles(bench, s.rows * s.width);

        reference_cross_entropy_backward(all, s.logits->values, s.labels->values, 1.0 / s.rows,
                                         s.rows, s.width, s.classes);
        memcpy(reference, dlogits->values, (size_t)dlogits->count * sizeof *reference);
        for (int row = 0; row < s.rows; row++) {
            size_t first = (size_t)row * (size_t)s.width;
            rows->values[row] = random_below(&bench->random, 2) ? row : -1;
            if (rows->values[row] >= 0)
                memcpy(reference + first, all + first, (size_t)s.width * sizeof *reference);
        }
        tensor_store(bench, rows);
        RUN(bench, cross_entropy_backward, s.rows, .dlogits = dlogits->data,
            .logits = s.logits->data, .labels = s.labels->data, .rows = rows->data,
            .state = step_state->data, .scale = 1 / (float)s.rows, .width = s.width,
            .classes = s.classes);
        EXPECT_SIZED(bench, dlogits, reference, gradient_units(bench, &s, 1.0 / s.rows), 0x1p-24);
    }
}

KERNEL_TEST(hard_rows_are_those_with_at_least_the_mean)
{
    static const int counts[] = { 1, 2, 31, 32, 33, 64, 197 };

    for (size_t i = 0; i < 4 * ARRAY_SIZE(counts); i++) {
        int count = counts[i / 4], places = 0;
        double sum = 0;

        workbench_case(bench, "hard_rows: count %d", count);
        struct tensor *loss = tensor_below(bench, count, 1 << 10);
        struct tensor *losses = tensor_output(bench, FLOAT, count);
        struct tensor *rows = tensor_output(bench, INT32, count);
        struct tensor *kept = tensor_output(bench, INT32, 1);
        double *reference = workbench_doubles(bench, count), number;

        /* Whole numbers, whose sum is exact in any order; and all the same. */
        for (int j = 0; j < count; j++) {
            losses->values[j] = i % 4 == 3 ? 2 : loss->values[j];
            sum += losses->values[j];
        }
        tensor_store(bench, losses);
        for (int j = 0; j < count; j++)
            if (losses->values[j] * count >= sum)
                reference[places++] = j;
        number = places;
        while (places < count) reference[places++] = -1;
        RUN(bench, hard_rows, count, .rows = rows->data, .kept = kept->data, .loss = losses->data,
            .count = count, .width = ROW_MULTIPLE);
        EXPECT(bench, rows, reference, 0);
        EXPECT(bench, kept, &number, 0);
    }
}

struct cross_entropy_slope {
    const struct scored *scored;
    double *loss;
};

static double total_loss(void *context)
{
    const struct cross_entropy_slope *slope = context;
    const struct scored *s = slope->scored;
    double sum = 0;

    reference_cross_entropy_forward(slope->loss, s->logits->values, s->labels->values, s->rows,
                                    s->width, s->classes);
    for (int i = 0; i < s->rows; i++) sum += slope->loss[i];
    return sum / s->rows;
}

KERNEL_TEST(cross_entropy_backward_reference_is_the_slope_of_the_mean_loss)
{
    struct scored s = scored_make(bench, 5, 2);
    double *dlogits = workbench_doubles(bench, s.rows * s.width);
    struct cross_entropy_slope slope = { &s, workbench_doubles(bench, s.rows) };

    reference_cross_entropy_backward(dlogits, s.logits->values, s.labels->values, 1.0 / s.rows,
                                     s.rows, s.width, s.classes);
    WITHIN(bench, "slope",
           reference_slope_error(s.logits->values, dlogits, s.rows * s.width, total_loss, &slope,
                                 &bench->random),
           1e-7);
}

KERNEL_TEST(loss_mean_writes_its_slot_of_the_ring_alone)
{
    static const int counts[] = { 1, 5, 32, 64, 197, 1000 };
    static const int steps[] = { 0, 3, 6, 7, 1000003 };
    enum { RING = 7 };

    for (size_t i = 0; i < 2 * ARRAY_SIZE(counts) * ARRAY_SIZE(steps); i++) {
        bool accumulate = i % 2;
        int count = counts[i / 2 % ARRAY_SIZE(counts)];
        struct step_state step = { .step = steps[i / 2 / ARRAY_SIZE(counts)], .loss_scale = 1 };
        int updates = i % 3 == 0 ? 4 : 1, training_step = step.step / updates;
        int slot = training_step % RING;
        float scale = 1 / (float)count;

        workbench_case(bench, "loss_mean: count %d, step %d", count, step.step);
        struct tensor *step_state = tensor_copy(bench, BYTE, &step, sizeof step);
        struct tensor *loss = tensor_normal(bench, FLOAT, count, 2.3, 0.5);
        struct tensor *ring = tensor_normal(bench, FLOAT, RING, 2.3, 0.5);
        if (!accumulate)
            ring->values[slot] = NAN;
        tensor_store(bench, ring);
        double *before = workbench_doubles(bench, RING);
        double *reference = workbench_doubles(bench, RING);
        memcpy(before, ring->values, RING * sizeof *before);
        memcpy(reference, ring->values, RING * sizeof *reference);

        reference_loss_mean(reference, loss->values, training_step, scale, count, RING, accumulate);
        RUN(bench, loss_mean, 1, .ring = ring->data, .loss = loss->data, .state = step_state->data,
            .scale = scale, .count = count, .ring_length = RING, .accumulate = accumulate,
            .updates = updates, .width = ROW_MULTIPLE);
        EXPECT(bench, ring, reference, 1e-6);
        for (int j = 0; j < RING; j++) assert_true(j == slot || ring->values[j] == before[j]);
    }
}

static int first_of_the_largest(const double *logits, int classes)
{
    int best = 0;

    for (int c = 1; c < classes; c++)
        if (logits[c] > logits[best])
            best = c;
    return best;
}

/* Every third row is right by itself, another third has two largest logits, of which the first
 * counts. */
KERNEL_TEST(count_right_adds_one_where_the_first_largest_logit_is_the_labels)
{
    for (size_t i = 0; i < SHAPES; i++) {
        struct scored s = scored_make(bench, i, 2);
        struct tensor *right = tensor_normal(bench, FLOAT, s.rows, 1000, 100);
        double *reference = workbench_doubles(bench, s.rows);

        for (int row = 0; row < s.rows; row++) {
            double *logits = s.logits->values + (size_t)row * (size_t)s.width;
            if (row % 3 == 0)
                logits[(int)s.labels->values[row]] = 64;
            if (row % 3 == 1)
                logits[s.classes - 1] = logits[first_of_the_largest(logits, s.classes)];
        }
        tensor_store(bench, s.logits);
        for (int row = 0; row < s.rows; row++) {
            right->values[row] = floor(right->values[row]);
            reference[row] = right->values[row] +
                             (first_of_the_largest(s.logits->values + (size_t)row * (size_t)s.width,
                                                   s.classes) == (int)s.labels->values[row]);
        }
        tensor_store(bench, right);
        RUN(bench, count_right, s.rows, .right = right->data, .logits = s.logits->data,
            .labels = s.labels->data, .width = s.width, .classes = s.classes);
        EXPECT(bench, right, reference, 0);
    }
}
