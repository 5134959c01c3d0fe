/* Dynamic loss scaling in fp16: an overflow, planted by a loss scale that is far too large, skips
 * the update and halves the scale, whoever reads the flag and however the step is launched. */
#include "tests/fixtures/lab/training_fixture.h"

#include <math.h>

/* Each way to queue an update, and to decide on it. */
static const char *const ways[] = {
    "launch=eager",
    "launch=graph",
    "launch=eager loss_scaling=host",
    "launch=eager loss_scaling=host clipping=host",
    "launch=eager loss_scaling=host optimizer=unfused",
    "launch=blocking optimizer=per_tensor loss_scaling=host",
    "launch=graph optimizer=unfused",
    "launch=eager optimizer=per_tensor clipping=host",
    "launch=graph batch=4 accumulate=2",
    "launch=eager batch=4 accumulate=2 loss_scaling=host",
    "launch=graph batch=4 accumulate=4 update=micro_batch",
};

static struct training *open_fp16(struct device *device, const char *way)
{
    char settings[256];

    snprintf(settings, sizeof settings, "model=light precision=fp16 %s", way);
    return open_training(device, settings);
}

static struct step_state state_of(struct training *training)
{
    struct step_state state;

    assert_ok(device_copy(training->compute, COPY_DEVICE_TO_HOST, &state,
                          optimizer_state(training->optimizer), sizeof state));
    return state;
}

static void set_scale(struct training *training, float scale)
{
    struct step_state state = state_of(training);

    state.loss_scale = scale;
    state.good_updates = 0;
    assert_ok(device_copy(training->compute, COPY_HOST_TO_DEVICE,
                          optimizer_state(training->optimizer), &state, sizeof state));
}

/* Every weight as it is stored, its master and its moments, one behind the other; the caller frees
 * it. */
static char *weights_of(struct training *training, size_t *bytes)
{
    const struct encoder *encoder = training->encoder;
    size_t elements = (size_t)encoder_parameters(encoder), used = 0;
    char *weights = malloc(elements * (2 + 3 * sizeof(float)));

    assert_non_null(weights);
    for (int i = 0; i < encoder->parameter_count; i++) {
        const struct parameter *p = &encoder->parameters[i];
        struct moments moments = optimizer_moments(training->optimizer, i);
        size_t count = (size_t)p->value->elements;
        const void *from[] = { p->value->data, p->master, moments.m, moments.v };

        for (size_t j = 0; j < ARRAY_SIZE(from); j++) {
            size_t size = count * (j == 0 ? 2 : sizeof(float));
            assert_ok(
                device_copy(training->compute, COPY_DEVICE_TO_HOST, weights + used, from[j], size));
            used += size;
        }
    }
    *bytes = used;
    return weights;
}

static bool are_finite(const char *weights, const struct training *training)
{
    const struct encoder *encoder = training->encoder;

    for (int i = 0; i < encoder->parameter_count; i++) {
        int64_t count = encoder->parameters[i].value->elements;
        weights += 2 * count;
        for (int64_t j = 0; j < 3 * count; j++, weights += sizeof(float)) {
            float value;
            memcpy(&value, weights, sizeof value);
            if (!isfinite(value))
                return false;
        }
    }
    return true;
}

TEST(an_overflow_halves_the_scale_and_skips_the_update)
{
    enum { BEFORE = 6, AFTER = 24 };

    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        struct training *training = open_fp16(*state, ways[i]);
        int updates = training->config.launch.one_update ? 1 : training->config.launch.accumulate;
        struct step_state before, planted, after;
        size_t bytes;
        char *weights, *kept, *moved;

        assert_ok(training_run(training, BEFORE)); /* A graph is captured by then. */
        set_scale(training, 0x1p60f);
        before = state_of(training);
        weights = weights_of(training, &bytes);

        assert_ok(training_run(training, 1));
        planted = state_of(training);
        kept = weights_of(training, &bytes);
        assert_int_equal(planted.step, before.step + updates);
        assert_int_equal(planted.overflows, before.overflows + updates);
        assert_int_equal(planted.good_updates, 0);
        assert_true(planted.loss_scale == ldexpf(0x1p60f, -updates));
        assert_true(planted.gradient_scale == ADAMW_SKIP);
        assert_memory_equal(weights, kept, bytes);

        set_scale(training, 0x1p10f);
        assert_ok(training_run(training, AFTER));
        after = state_of(training);
        moved = weights_of(training, &bytes);
        assert_int_equal(after.overflows, planted.overflows);
        assert_int_equal(after.good_updates, AFTER * updates);
        assert_true(after.loss_scale == 0x1p10f);
        assert_memory_not_equal(kept, moved, bytes);
        assert_true(are_finite(moved, training));
        free(weights);
        free(kept);
        free(moved);
        training_close(training);
    }
}

/* From a scale that is far too large training finds one that fits by itself, and then trains on. */
TEST(the_scale_falls_until_nothing_overflows)
{
    enum { STEPS = 60 };
    float losses[STEPS];

    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        struct training *training = open_fp16(*state, ways[i]);
        struct step_state after;

        assert_true(state_of(training).loss_scale == LOSS_SCALE_FIRST);
        set_scale(training, 0x1p40f);
        assert_ok(training_run(training, STEPS));
        assert_ok(training_losses(training, 0, STEPS, losses));
        after = state_of(training);
        assert_in_range(after.overflows, 20, 50);
        assert_true(after.loss_scale == ldexpf(0x1p40f, -after.overflows));
        for (int step = 0; step < STEPS; step++)
            assert_true(isfinite(losses[step]) && losses[step] > 0);
        training_close(training);
    }
}

TEST(the_scale_grows_after_so_many_good_updates)
{
    for (size_t i = 0; i < 3; i++) {
        char settings[128];
        struct training_config config;
        struct training *training = NULL;
        struct step_state after;

        snprintf(settings, sizeof settings, "model=light precision=fp16 growth_interval=4 %s",
                 ways[i]);
        config = config_of(*state, settings);
        assert_ok(training_open(&training, *state, &config));
        set_scale(training, 16);
        assert_ok(training_run(training, 14));
        after = state_of(training);
        assert_int_equal(after.overflows, 0);
        assert_int_equal(after.good_updates, 2);
        assert_true(after.loss_scale == 128);
        training_close(training);
    }
}

/* All that the weights become, with overflows on the way; only the ways that add up in the same
 * order. */
TEST(who_reads_the_flag_changes_no_bit)
{
    enum { STEPS = 20 };
    char *expected = NULL;
    size_t bytes;

    for (size_t i = 0; i < 4; i++) {
        struct training *training = open_fp16(*state, ways[i]);
        char *weights;

        set_scale(training, 0x1p20f);
        assert_ok(training_run(training, STEPS));
        assert_in_range(state_of(training).overflows, 2, STEPS - 2);
        weights = weights_of(training, &bytes);
        if (expected == NULL) {
            expected = weights;
        } else {
            assert_memory_equal(expected, weights, bytes);
            free(weights);
        }
        training_close(training);
    }
    free(expected);
}

/* At a scale that fits, so that no update is skipped. */
TEST(fp16_stays_close_to_fp32)
{
    static const char *const settings[] = {
        "launch=eager",
        "launch=graph elementwise=unfused",
        "launch=eager gelu=host",
        "launch=eager attention=fused",
    };
    enum { STEPS = 12 };
    float expected[STEPS], losses[STEPS];

    run_losses(*state, "model=light batch=8 precision=fp32", STEPS, expected);
    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        struct training *training;
        char way[128];

        snprintf(way, sizeof way, "batch=8 %s", settings[i]);
        training = open_fp16(*state, way);
        set_scale(training, 0x1p10f);
        assert_ok(training_run(training, STEPS));
        assert_ok(training_losses(training, 0, STEPS, losses));
        assert_int_equal(state_of(training).overflows, 0);
        for (int step = 0; step < STEPS; step++)
            if (!(fabsf(losses[step] - expected[step]) <= 2e-3f * expected[step])) {
                print_error("%s, step %d: %g instead of %g\n", way, step, (double)losses[step],
                            (double)expected[step]);
                fail();
            }
        training_close(training);
    }
}

/* Only in fp16: the others have fp32's range, and a host that is told to read the flag has none to
 * read. */
TEST(other_types_are_not_scaled)
{
    static const char *const settings[] = {
        "model=light launch=eager precision=fp32", "model=light launch=graph precision=bf16",
        "model=light launch=graph precision=bf16 loss_scaling=host"
    };

    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        struct training *training = open_training(*state, settings[i]);
        struct step_state after;

        assert_ok(training_run(training, 5));
        after = state_of(training);
        assert_true(after.loss_scale == 1);
        assert_int_equal(after.good_updates, 0);
        training_close(training);
    }
}

TEST(reading_the_flag_waits_in_every_step_and_skips_are_counted)
{
    static const char *const scaling[] = { "device", "host" };

    for (int host = 0; host < 2; host++) {
        struct training_window window = { 0 };
        struct training *training;
        char way[64];

        snprintf(way, sizeof way, "launch=eager loss_every=20 loss_scaling=%s", scaling[host]);
        training = open_fp16(*state, way);
        set_scale(training, 0x1p10f);
        assert_ok(training_run(training, 20));
        set_scale(training, 0x1p60f);
        assert_ok(training_window(training, 20, &window));
        assert_true(fabs(window.metric[METRIC_SYNCS_PER_STEP] - (host + 0.05)) < 1e-9);
        assert_true(window.metric[METRIC_SKIPPED_UPDATES] == 1);
        training_window_release(&window);
        set_scale(training, 0x1p10f);
        window = (struct training_window){ 0 };
        assert_ok(training_window(training, 20, &window));
        assert_true(window.metric[METRIC_SKIPPED_UPDATES] == 0);
        training_window_release(&window);
        training_close(training);
    }
}

TESTS_WITH(open_device, close_device)
