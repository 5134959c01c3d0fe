/* AdamW in its three forms, over several updates, beside one reference.
 *
 * A form is a set of tensors of its own (parameters, masters, moments, state) that starts as the
 * others do and sees the same gradients. The reference makes its own state from the gradients
 * alone, so that norm, clipping, rate and corrections are checked on the way and through what they
 * do. */
#include "tests/kernels/families.h"
#include "tests/kernels/references.h"

#include <math.h>

enum form { UNFUSED, PER_TENSOR, MULTI, FORMS };
static const char *const form_names[FORMS] = { "six kernels", "per tensor", "multi-tensor" };

/* From one ROW_MULTIPLE to several chunks, the last of them short. */
enum { WEIGHTS = 6, CHUNK = 512 };
static const long counts[WEIGHTS] = { 32, 64, 768, 512, 1056, 5 * 512 + 96 };
static const float decays[WEIGHTS] = { 0.1f, 0, 0.01f, 0, 0.1f, 0.05f };

struct weight {
    struct tensor *parameter, *master, *m, *v, *work;
};

struct optimizer {
    struct weight weights[WEIGHTS];
    struct tensor *state, *partial, *table;
};

struct training {
    struct tensor *gradients[WEIGHTS];
    struct optimizer optimizers[FORMS];
    struct reference_state reference;
    double *master[WEIGHTS], *m[WEIGHTS], *v[WEIGHTS];
    double *partial; /* of the reference: the squares of every chunk */
    int chunks;
    float rate, max_norm;
    int warmup;
};

static int chunks_of(long count)
{
    return (int)((count + CHUNK - 1) / CHUNK);
}

/* A pointer to element `at`. */
static void *element_at(const struct workbench *bench, const struct tensor *tensor, long at)
{
    size_t bytes = tensor->element == REAL && bench->dtype != DTYPE_F32 ? 2 : 4;

    return (char *)tensor->data + (size_t)at * bytes;
}

static struct tensor *table_make(struct workbench *bench, const struct training *training,
                                 const struct optimizer *optimizer)
{
    struct tensor_chunk table[32];
    int rows = 0;

    for (int i = 0; i < WEIGHTS; i++)
        for (long at = 0; at < counts[i]; at += CHUNK) {
            const struct weight *weight = &optimizer->weights[i];
            assert_true(rows < (int)ARRAY_SIZE(table));
            table[rows++] = (struct tensor_chunk){
                .parameter = element_at(bench, weight->parameter, at),
                .gradient = element_at(bench, training->gradients[i], at),
                .master = element_at(bench, weight->master, at),
                .m = element_at(bench, weight->m, at),
                .v = element_at(bench, weight->v, at),
                .decay = decays[i],
                .count = (int32_t)(counts[i] - at < CHUNK ? counts[i] - at : CHUNK),
            };
        }
    return tensor_copy(bench, BYTE, table, rows * (long)sizeof table[0]);
}

/* Tensors as before the first step: moments 0, parameters rounded from masters. In fp32 the master
 * is the parameter. */
static void optimizer_make(struct workbench *bench, const struct training *training,
                           struct optimizer *optimizer)
{
    struct step_state start = { .step = -1, .loss_scale = (float)training->reference.loss_scale };

    for (int i = 0; i < WEIGHTS; i++) {
        struct weight *weight = &optimizer->weights[i];
        weight->parameter = tensor_output(bench, REAL, counts[i]);
        weight->master =
            bench->dtype == DTYPE_F32 ? weight->parameter : tensor_output(bench, FLOAT, counts[i]);
        weight->m = tensor_output(bench, FLOAT, counts[i]);
        weight->v = tensor_output(bench, FLOAT, counts[i]);
        weight->work = tensor_output(bench, FLOAT, counts[i]);
        for (long j = 0; j < counts[i]; j++) {
            weight->parameter->values[j] = weight->master->values[j] = training->master[i][j];
            weight->m->values[j] = weight->v->values[j] = 0;
        }
        tensor_store(bench, weight->parameter);
        tensor_store(bench, weight->master);
        tensor_store(bench, weight->m);
        tensor_store(bench, weight->v);
    }
    optimizer->state = tensor_copy(bench, BYTE, &start, sizeof start);
    optimizer->partial = tensor_output(bench, FLOAT, training->chunks);
    optimizer->table = table_make(bench, training, optimizer);
}

static void training_make(struct workbench *bench, struct training *training, float loss_scale)
{
    training->reference = (struct reference_state){ .step = -1, .loss_scale = (double)loss_scale };
    training->chunks = 0;
    for (int i = 0; i < WEIGHTS; i++) {
        training->chunks += chunks_of(counts[i]);
        training->gradients[i] = tensor_output(bench, REAL, counts[i]);
        training->master[i] = workbench_doubles(bench, counts[i]);
        training->m[i] = workbench_doubles(bench, counts[i]);
        training->v[i] = workbench_doubles(bench, counts[i]);
        for (long j = 0; j < counts[i]; j++)
            training->master[i][j] =
                workbench_round(bench, FLOAT, 0.02 * (double)random_normal(&bench->random));
    }
    training->partial = workbench_doubles(bench, training->chunks);
    for (int form = 0; form < FORMS; form++)
        optimizer_make(bench, training, &training->optimizers[form]);
}

/* Fresh gradients for the next update, times the loss scale as backward would leave them. */
static void gradients_draw(struct workbench *bench, struct training *training, double deviation)
{
    for (int i = 0; i < WEIGHTS; i++) {
        for (long j = 0; j < counts[i]; j++)
            training->gradients[i]->values[j] =
                deviation * training->reference.loss_scale * (double)random_normal(&bench->random);
        tensor_store(bench, training->gradients[i]);
    }
}

static void run_norm(struct workbench *bench, const struct training *training, enum form form)
{
    const struct optimizer *optimizer = &training->optimizers[form];
    int row = 0;

    if (form == MULTI)
        RUN(bench, square_sum_multi, training->chunks, .partial = optimizer->partial->data,
            .table = optimizer->table->data, .width = CHUNK);
    else
        for (int i = 0; i < WEIGHTS; i++) {
            RUN(bench, square_sum, chunks_of(counts[i]),
                .partial = element_at(bench, optimizer->partial, row),
                .x = training->gradients[i]->data, .count = counts[i], .width = CHUNK);
            row += chunks_of(counts[i]);
        }
    RUN(bench, gradient_norm_finish, 1, .state = optimizer->state->data,
        .partial = optimizer->partial->data, .count = training->chunks,
        .max_norm = training->max_norm, .width = ROW_MULTIPLE);
}

static void run_six_kernels(struct workbench *bench, const struct weight *weight,
                            const void *gradient, const void *state, float decay, long count)
{
    RUN(bench, adamw_decay, count, .master = weight->master->data, .state = state, .decay = decay);
    RUN(bench, adamw_momentum, count, .m = weight->m->data, .gradient = gradient, .state = state);
    RUN(bench, adamw_variance, count, .v = weight->v->data, .gradient = gradient, .state = state);
    RUN(bench, adamw_root, count, .work = weight->work->data, .v = weight->v->data);
    RUN(bench, adamw_denominator, count, .work = weight->work->data, .state = state);
    RUN(bench, adamw_update, count, .parameter = weight->parameter->data,
        .master = weight->master->data, .m = weight->m->data, .work = weight->work->data,
        .state = state);
}

static void run_update(struct workbench *bench, const struct training *training, enum form form)
{
    const struct optimizer *optimizer = &training->optimizers[form];
    const void *state = optimizer->state->data;

    RUN(bench, step_advance, 1, .state = optimizer->state->data, .rate = training->rate,
        .warmup = training->warmup, .width = ROW_MULTIPLE);
    run_norm(bench, training, form);
    if (form == MULTI) {
        RUN(bench, adamw_multi, training->chunks, .table = optimizer->table->data, .state = state,
            .width = CHUNK);
        return;
    }
    for (int i = 0; i < WEIGHTS; i++) {
        const struct weight *weight = &optimizer->weights[i];
        const void *gradient = training->gradients[i]->data;
        if (form == UNFUSED)
            run_six_kernels(bench, weight, gradient, state, decays[i], counts[i]);
        else
            RUN(bench, adamw, counts[i], .parameter = weight->parameter->data, .gradient = gradient,
                .master = weight->master->data, .m = weight->m->data, .v = weight->v->data,
                .state = state, .decay = decays[i]);
    }
}

/* The same update on the reference. */
static void update_reference(struct training *training)
{
    double squares = 0;
    int row = 0;

    for (int i = 0; i < WEIGHTS; i++)
        for (long at = 0; at < counts[i]; at += CHUNK) {
            long count = counts[i] - at < CHUNK ? counts[i] - at : CHUNK;
            double sum = reference_square_sum(training->gradients[i]->values + at, count);
            training->partial[row++] = sum;
            squares += sum;
        }
    reference_step_advance(&training->reference, (double)training->rate, training->warmup);
    reference_gradient_norm_finish(&training->reference, squares, (double)training->max_norm);
    for (int i = 0; i < WEIGHTS; i++)
        reference_adamw(training->master[i], training->m[i], training->v[i],
                        training->gradients[i]->values, &training->reference, (double)decays[i],
                        counts[i]);
}

static double relative(double value, double reference)
{
    return fabs(value - reference) / fabs(reference);
}

static void check_state(struct workbench *bench, const struct training *training, enum form form)
{
    const struct reference_state *want = &training->reference;
    struct step_state got;

    tensor_fetch(bench, training->optimizers[form].state, &got);
    assert_int_equal(got.step, want->step);
    assert_int_equal(got.overflows, want->overflows);
    assert_true((double)got.loss_scale == want->loss_scale);
    WITHIN(bench, "rate", relative((double)got.rate, want->rate), 2e-7);
    WITHIN(bench, "correction1", relative((double)got.correction1, want->correction1), 1e-6);
    WITHIN(bench, "correction2", relative((double)got.correction2, want->correction2), 2e-6);
    if (isfinite(want->gradient_norm)) {
        WITHIN(bench, "norm", relative((double)got.gradient_norm, want->gradient_norm), 1e-6);
        WITHIN(bench, "scale", relative((double)got.gradient_scale, want->gradient_scale), 1e-6);
    } else {
        uint32_t bits;
        memcpy(&bits, &got.gradient_norm, sizeof bits);
        assert_true((bits & 0x7f800000) == 0x7f800000);
        assert_true(got.gradient_scale == ADAMW_SKIP);
    }
}

static void check_update(struct workbench *bench, const struct training *training, enum form form)
{
    check_state(bench, training, form);
    EXPECT(bench, training->optimizers[form].partial, training->partial, 1e-6);
    for (int i = 0; i < WEIGHTS; i++) {
        const struct weight *weight = &training->optimizers[form].weights[i];
        EXPECT(bench, weight->m, training->m[i], 2e-6);
        EXPECT(bench, weight->v, training->v[i], 2e-6);
        EXPECT(bench, weight->master, training->master[i], 2e-6);
        EXPECT(bench, weight->parameter, weight->master->values, 0);
        if (form == UNFUSED)
            tensor_fetch(bench, weight->work, NULL);
    }
}

static void check_same_bits(struct workbench *bench, const struct training *training)
{
    for (int i = 0; i < WEIGHTS; i++) {
        const struct weight *a = &training->optimizers[PER_TENSOR].weights[i];
        const struct weight *b = &training->optimizers[MULTI].weights[i];
        EXPECT_SAME_BITS(bench, a->parameter, b->parameter);
        EXPECT_SAME_BITS(bench, a->master, b->master);
        EXPECT_SAME_BITS(bench, a->m, b->m);
        EXPECT_SAME_BITS(bench, a->v, b->v);
    }
    EXPECT_SAME_BITS(bench, training->optimizers[PER_TENSOR].partial,
                     training->optimizers[MULTI].partial);
}

KERNEL_TEST(adamw_in_three_forms_follows_its_reference)
{
    static const struct {
        const char *name;
        double deviation;
        float rate, max_norm, loss_scale;
        int warmup;
    } cases[] = {
        { "plain", 1, 1e-3f, 0, 1, 0 },
        { "warm-up", 0.1, 3e-3f, 0, 1, 3 },
        { "warm-up longer than the run", 0.1, 1e-2f, 0, 1, 100 },
        { "clipped", 1, 1e-3f, 1, 1, 2 },
        { "clipping out of reach", 1, 1e-3f, 1000, 1, 0 },
        { "scaled loss", 0.5, 1e-3f, 0, 1024, 0 },
        { "scaled loss, clipped", 0.5, 1e-3f, 1, 1024, 3 },
        { "gradients as small as epsilon", 1e-8, 1e-3f, 1, 1, 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct training training = {
            .rate = cases[i].rate,
            .max_norm = cases[i].max_norm,
            .warmup = cases[i].warmup,
        };
        workbench_case(bench, "AdamW, %s", cases[i].name);
        training_make(bench, &training, cases[i].loss_scale);
        for (int step = 0; step < 6; step++) {
            gradients_draw(bench, &training, cases[i].deviation);
            update_reference(&training);
            for (int form = 0; form < FORMS; form++) {
                snprintf(bench->label, sizeof bench->label, "AdamW, %s, %s, step %d", cases[i].name,
                         form_names[form], step);
                run_update(bench, &training, (enum form)form);
                check_update(bench, &training, (enum form)form);
            }
            check_same_bits(bench, &training);
        }
    }
}

/* One bad element among thousands, in the first or in the last tensor, in the second of four
 * updates: that update leaves parameters, masters and moments as they were, and the next goes on
 * from there. */
KERNEL_TEST(an_update_with_a_gradient_that_is_not_finite_is_skipped)
{
    static const double bad[] = { INFINITY, -INFINITY, NAN };

    for (size_t i = 0; i < 2 * ARRAY_SIZE(bad); i++) {
        struct training training = { .rate = 1e-3f, .max_norm = i % 2 ? 1.0f : 0.0f };
        workbench_case(bench, "AdamW, a gradient of %g", bad[i / 2]);
        training_make(bench, &training, 256);
        for (int step = 0; step < 4; step++) {
            gradients_draw(bench, &training, 1);
            if (step == 1) {
                struct tensor *gradient = training.gradients[i % 2 ? WEIGHTS - 1 : 0];
                gradient->values[gradient->count - 1 - (long)i] = bad[i / 2];
                tensor_store(bench, gradient);
            }
            update_reference(&training);
            for (int form = 0; form < FORMS; form++) {
                run_update(bench, &training, (enum form)form);
                if (step != 1) {
                    check_update(bench, &training, (enum form)form);
                    continue;
                }
                check_state(bench, &training, (enum form)form);
                tensor_fetch(bench, training.optimizers[form].partial, NULL);
                for (int j = 0; j < WEIGHTS && form == UNFUSED; j++)
                    tensor_fetch(bench, training.optimizers[form].weights[j].work, NULL);
                workbench_untouched(bench);
            }
        }
        assert_int_equal(training.reference.overflows, 1);
    }
}

/* After one update m / correction1 is the gradient and sqrt(v / correction2) its size, so without
 * decay every weight moves by the rate; and a gradient of nothing but zeros leaves only the
 * decay. */
KERNEL_TEST(the_first_update_moves_every_weight_by_the_rate)
{
    for (int form = 0; form < 2 * FORMS; form++) {
        bool zeros = form >= FORMS;
        const struct optimizer *optimizer;
        struct training training = { .rate = 1e-3f };
        workbench_case(bench, "AdamW, first update, %s", form_names[form % FORMS]);
        training_make(bench, &training, 1);
        gradients_draw(bench, &training, zeros ? 0 : 1);
        run_update(bench, &training, (enum form)(form % FORMS));

        optimizer = &training.optimizers[form % FORMS];
        tensor_fetch(bench, optimizer->state, NULL);
        tensor_fetch(bench, optimizer->partial, NULL);
        for (int i = 0; i < WEIGHTS; i++) {
            const struct weight *weight = &optimizer->weights[i];
            const double *gradient = training.gradients[i]->values, rate = (double)training.rate;
            double *expected = workbench_doubles(bench, counts[i]);
            for (long j = 0; j < counts[i]; j++)
                expected[j] = training.master[i][j] * (1 - rate * (double)decays[i]) -
                              rate * gradient[j] / (fabs(gradient[j]) + (double)ADAMW_EPSILON);
            EXPECT(bench, weight->master, expected, 1e-6);
            tensor_fetch(bench, weight->parameter, NULL);
            tensor_fetch(bench, weight->m, NULL);
            tensor_fetch(bench, weight->v, NULL);
            tensor_fetch(bench, weight->work, NULL);
        }
    }
}

KERNEL_TEST(step_advance_counts_warms_up_and_corrects)
{
    static const int warmups[] = { 0, 1, 2, 10, 1000 };

    for (size_t i = 0; i < ARRAY_SIZE(warmups); i++) {
        /* After as many updates as were skipped. */
        struct step_state start = { .step = 2, .loss_scale = 1, .overflows = 3 }, got;
        struct reference_state want = { .step = 2, .loss_scale = 1, .overflows = 3 };
        workbench_case(bench, "step_advance: warm-up %d", warmups[i]);
        struct tensor *step_state = tensor_copy(bench, BYTE, &start, sizeof start);

        for (int step = 0; step < 3000; step++) {
            RUN(bench, step_advance, 1, .state = step_state->data, .rate = 3e-4f,
                .warmup = warmups[i], .width = ROW_MULTIPLE);
            reference_step_advance(&want, (double)3e-4f, warmups[i]);
            if (step > 20 && step % 100 != 0)
                continue;
            tensor_fetch(bench, step_state, &got);
            assert_int_equal(got.step, 3 + step);
            assert_int_equal(got.overflows, 3);
            assert_true(got.loss_scale == 1);
            WITHIN(bench, "rate", relative((double)got.rate, want.rate), 2e-7);
            WITHIN(bench, "correction1", relative((double)got.correction1, want.correction1), 1e-6);
            WITHIN(bench, "correction2", relative((double)got.correction2, want.correction2), 2e-6);
        }
        tensor_fetch(bench, step_state, NULL);
    }
}

KERNEL_TEST(square_sum_takes_what_count_leaves_of_the_last_row)
{
    static const int widths[] = { 32, 64, 96, 1024 };
    static const long elements[] = { 32, 96, 128, 992, 1024, 4128, 20000 / 32 * 32 };

    for (size_t i = 0; i < ARRAY_SIZE(widths) * ARRAY_SIZE(elements); i++) {
        int width = widths[i % ARRAY_SIZE(widths)];
        long count = elements[i / ARRAY_SIZE(widths)], rows = (count + width - 1) / width;

        workbench_case(bench, "square_sum: count %ld, width %d", count, width);
        struct tensor *x = tensor_normal(bench, REAL, count, 0, 1);
        struct tensor *partial = tensor_output(bench, FLOAT, rows);
        double *reference = workbench_doubles(bench, rows);
        for (long row = 0; row < rows; row++) {
            long left = count - row * width;
            reference[row] =
                reference_square_sum(x->values + row * width, left < width ? left : width);
        }
        RUN(bench, square_sum, rows, .partial = partial->data, .x = x->data, .count = count,
            .width = width);
        EXPECT(bench, partial, reference, 1e-6);
    }
}

/* Any number of partial sums, not only multiples of a pack. */
KERNEL_TEST(gradient_norm_finish_follows_its_reference)
{
    static const int partials[] = { 1, 5, 31, 32, 33, 197, 5000 };
    static const double clips[] = { 0, 0.01, 0.9, 1.5, 1e6 }; /* max_norm, in norms */

    for (size_t i = 0; i < 2 * ARRAY_SIZE(partials) * ARRAY_SIZE(clips); i++) {
        float loss_scale = i % 2 ? 65536.0f : 1.0f;
        double clip = clips[i / 2 % ARRAY_SIZE(clips)], sum = 0;
        int count = partials[i / 2 / ARRAY_SIZE(clips)];
        struct step_state start = { .step = 4, .rate = 0.5f, .loss_scale = loss_scale }, got;
        struct reference_state want = { .step = 4, .loss_scale = (double)loss_scale };

        workbench_case(bench, "gradient_norm_finish: count %d, clipped at %g norms", count, clip);
        struct tensor *step_state = tensor_copy(bench, BYTE, &start, sizeof start);
        struct tensor *partial = tensor_normal(bench, FLOAT, count, 0, 1);
        for (int j = 0; j < count; j++) partial->values[j] = fabs(partial->values[j]);
        tensor_store(bench, partial);
        for (int j = 0; j < count; j++) sum += partial->values[j];
        float max_norm = (float)(clip * sqrt(sum) / (double)loss_scale);

        reference_gradient_norm_finish(&want, sum, (double)max_norm);
        RUN(bench, gradient_norm_finish, 1, .state = step_state->data, .partial = partial->data,
            .count = count, .max_norm = max_norm, .width = ROW_MULTIPLE);
        tensor_fetch(bench, step_state, &got);
        /* 5000 terms added one after the other lose up to 1.6e-6 where gcc does not vectorise. */
        WITHIN(bench, "norm", relative((double)got.gradient_norm, want.gradient_norm), 5e-6);
        WITHIN(bench, "scale", relative((double)got.gradient_scale, want.gradient_scale), 5e-6);
        assert_true(got.step == 4 && got.rate == 0.5f && got.loss_scale == loss_scale);
        assert_int_equal(got.overflows, 0);
    }
}

/* Halved by an overflow, doubled by INTERVAL good updates in a row, and no further than to what is
 * finite. */
KERNEL_TEST(the_loss_scale_follows_what_overflows)
{
    enum { INTERVAL = 3 };
    static const struct {
        float scale;
        const char *updates; /* o: good, x: an overflow */
        float wanted;
        int good;
    } cases[] = {
        { 1024, "o", 1024, 1 },           { 1024, "oo", 1024, 2 }, { 1024, "ooo", 2048, 0 },
        { 1024, "ooooooo", 4096, 1 },     { 1024, "x", 512, 0 },   { 1024, "xx", 256, 0 },
        { 1024, "ooxoo", 512, 2 },        { 1024, "oox", 512, 0 }, { 1024, "xooo", 1024, 0 },
        { 0x1p127f, "ooo", 0x1p127f, 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct step_state start = { .step = 7, .rate = 0.5f, .loss_scale = cases[i].scale }, got;

        for (const char *update = cases[i].updates; *update != '\0'; update++) {
            workbench_case(bench, "loss_scale_update: %s", cases[i].updates);
            start.gradient_scale = *update == 'o' ? 1 / start.loss_scale : ADAMW_SKIP;
            struct tensor *step_state = tensor_copy(bench, BYTE, &start, sizeof start);
            RUN(bench, loss_scale_update, 1, .state = step_state->data, .interval = INTERVAL,
                .width = ROW_MULTIPLE);
            tensor_fetch(bench, step_state, &got);
            start = got;
        }
        assert_true(got.loss_scale == cases[i].wanted && got.good_updates == cases[i].good);
        assert_true(got.step == 7 && got.rate == 0.5f && got.overflows == 0);
    }
}
