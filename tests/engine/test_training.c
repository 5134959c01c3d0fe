/* The training step: every setting computes the same thing, and costs what it should. */
#include "harness/base/figures/statistics.h"
#include "harness/engine/data/sequences.h"
#include "harness/engine/settings/step_memory.h"
#include "scenarios/scenario.h"
#include "tests/fixtures/lab/training_fixture.h"

#include <math.h>
#include <sched.h>

enum { STEPS = 12 };

/* cmocka compares floats only. */
#define assert_near(a, b, most) assert_true(fabs((a) - (b)) <= (most))

/* Largest difference of two runs' losses, relative to the loss. NaN where a loss is not finite. */
static double difference(const float *a, const float *b)
{
    double largest = 0;

    for (int i = 0; i < STEPS; i++) {
        double d = fabs((double)a[i] - b[i]) / fabs((double)a[i]);
        if (!(d <= largest))
            largest = d;
    }
    return largest;
}

/* Losses of `base` with each of `others` added, against `base` alone. */
static void compare(struct device *device, const char *base, const char *const *others, int count,
                    double limit)
{
    float losses[STEPS], expected[STEPS];
    char settings[512];

    run_losses(device, base, STEPS, expected);
    for (int i = 0; i < STEPS; i++) assert_true(isfinite(expected[i]) && expected[i] > 0);
    for (int i = 0; i < count; i++) {
        snprintf(settings, sizeof settings, "%s %s", base, others[i]);
        run_losses(device, settings, STEPS, losses);
        if (limit > 0 ? !(difference(expected, losses) <= limit)
                      : memcmp(expected, losses, sizeof losses) != 0) {
            print_error("%s: losses differ by %.3g (limit %.3g)\n", settings,
                        difference(expected, losses), limit);
            fail();
        }
    }
}

TEST(what_changes_no_arithmetic_changes_no_bit)
{
    static const char *const others[] = {
        "launch=graph",
        "launch=eager clipping=host",
        "loss_every=1",
        "kept_loss=graph",
        "kept_loss=graph checkpointing=block",
        "workers=0 prefetch=1",
        "workers=2 persistent_workers=no",
        "input=cached",
        "input=resident",
        "input=loaded",
        "input=loaded launch=graph",
        "input=loaded launch=graph transfer=inline host_memory=pageable",
        "transfer=inline",
        "transfer=blocking",
        "host_memory=pageable",
        "host_memory=pageable transfer=inline",
        "pinning=loop",
        "pinning=loop transfer=blocking",
        "pinning=loop input=loaded launch=graph",
        "jpeg_scaling=in_decoder resize_threads=3",
        "page_cache=dropped",
        "page_cache=dropped storage=shards workers=2",
        "storage=shards workers=0",
        "validate_every=2",
        "validate_every=3 launch=graph",
        "index=objects workers=2",
        "index=arrays workers=0 launch=graph",
        "garbage=collected",
        "garbage=frozen launch=graph",
        "accuracy=host predictions=rewritten",
        "accuracy=host predictions=appended launch=graph",
        "copies=per_tensor",
        "allocation=stream_ordered",
        "allocation=direct",
        "empty_cache_every=1",
        "empty_cache_every=1 launch=graph",
        "segments=exact",
        "segments=pooled",
        "checkpointing=block",
        "optimizer=per_tensor",
        "backward_streams=two",
        "backward_streams=two checkpointing=block allocation=stream_ordered",
        "backward_streams=two launch=blocking",
        "launch=graph backward_streams=two",
        "launch=graph checkpointing=block optimizer=per_tensor workers=0 loss_every=3",
    };

    compare(*state, "model=balanced input=decoded launch=eager loss_every=20 precision=fp32",
            others, ARRAY_SIZE(others), 0);
}

TEST(the_same_holds_for_sequences_in_bf16)
{
    static const char *const others[] = {
        "launch=graph",         "input=decoded workers=1",        "checkpointing=block",
        "optimizer=per_tensor", "launch=graph elementwise=fused", "backward_streams=two",
    };

    compare(*state, "model=light batch=4 launch=eager precision=bf16", others, ARRAY_SIZE(others),
            0);
}

TEST(the_same_holds_for_sequences_in_fp16)
{
    static const char *const others[] = {
        "launch=graph",         "input=decoded workers=1", "checkpointing=block",
        "optimizer=per_tensor", "loss_scaling=host",       "loss_scaling=host clipping=host",
    };

    compare(*state, "model=light batch=4 launch=eager precision=fp16", others, ARRAY_SIZE(others),
            0);
}

static bool takes_strides(const struct device *device)
{
    return where_holds(WHERE_ATTENTION_LIBRARY, device_properties(device));
}

TEST(segments_of_several_blocks_change_no_bit)
{
    static const char *const others[] = {
        "checkpointing=block", "checkpointing=2",
        "checkpointing=3",     "checkpointing=3 accumulate=1 launch=graph",
        "checkpointing=5",     "checkpointing=100 kept_loss=graph",
    };
    /* A library's attention may add up in another order from run to run. */
    double fused_limit = takes_strides(*state) ? 2e-2 : 0;

    compare(*state, "model=light blocks=5 batch=4 launch=eager precision=fp32", others,
            ARRAY_SIZE(others), 0);
    compare(*state,
            "model=light blocks=5 batch=4 launch=eager precision=bf16 elementwise=unfused "
            "attention=fused",
            others, ARRAY_SIZE(others), fused_limit);
    if (takes_strides(*state))
        compare(*state,
                "model=light blocks=5 batch=4 launch=eager precision=bf16 attention=fused "
                "heads=strided",
                others, ARRAY_SIZE(others), fused_limit);
}

TEST(graphs_of_several_lengths_change_no_bit)
{
    static const char *const others[] = {
        "launch=graph",
        "launch=graph graphs=latest",
        "launch=graph graphs=latest input=decoded checkpointing=block",
    };

    compare(*state,
            "model=light tokens=12 padding=longest pad_to_multiple_of=4 launch=eager "
            "precision=fp32",
            others, ARRAY_SIZE(others), 0);
}

TEST(another_order_of_sums_changes_little)
{
    static const char *const others[] = {
        "elementwise=unfused", "optimizer=unfused",
        "accumulate=8",        "accumulate=4 launch=graph",
        "gelu=host",           "gelu=host accumulate=4 checkpointing=block",
    };

    /* A GPU's library takes another kernel for another shape, which adds up in another order,
     * too. */
    compare(*state, "model=light batch=8 launch=eager precision=fp32", others, ARRAY_SIZE(others),
            device_properties(*state)->is_gpu ? 1e-4 : 1e-5);
}

TEST(epilogues_compute_what_kernels_do)
{
    static const char *const others[] = {
        "elementwise=epilogue",
        "elementwise=epilogue accumulate=4 checkpointing=block",
        "elementwise=epilogue padding=longest launch=graph",
        "elementwise=epilogue gelu=host",
        "elementwise=epilogue attention=fused experts=4",
    };
    static const char *const same[] = { "launch=graph", "checkpointing=block",
                                        "backward_streams=two", "allocation=direct" };
    static const char *const none[] = { "elementwise=epilogue" };
    const double limit = device_properties(*state)->is_gpu ? 1e-4 : 1e-5; /* as above */

    compare(*state, "model=light batch=8 launch=eager precision=fp32", others, 4, limit);
    compare(*state, "model=light batch=8 launch=eager precision=fp32 experts=4 attention=fused",
            others + 4, 1, limit);
    compare(*state, "model=balanced launch=eager precision=fp32", others, 2, limit);
    compare(*state, "model=light batch=8 launch=eager precision=bf16", others, 4, 2e-2);
    compare(*state, "model=light batch=8 launch=eager precision=fp16", others, 1, 2e-2);
    if (takes_strides(*state))
        compare(*state,
                "model=light batch=8 launch=eager precision=bf16 attention=fused heads=strided",
                others, 2, 2e-2);
    compare(*state, "model=light batch=8 launch=eager precision=bf16 elementwise=epilogue", same,
            ARRAY_SIZE(same), 0);
    /* Products in fp64 take none. */
    compare(*state, "model=light batch=8 launch=eager precision=fp32 linear=fp64", none, 1, 0);
}

TEST(padding_changes_nothing_but_the_order_of_sums)
{
    static const char *const same[] = {
        "padding=longest group_by_length=no pad_to_multiple_of=64",
        "padding=longest group_by_length=no pad_to_multiple_of=64 input=decoded workers=1",
    };
    static const char *const others[] = {
        "padding=longest group_by_length=no",
        "padding=longest group_by_length=no pad_to_multiple_of=1",
        "padding=longest",
        "padding=longest pad_to_multiple_of=1 checkpointing=block",
        "padding=longest elementwise=unfused input=decoded",
        "padding=longest attention=fused",
        "padding=longest max_tokens=180",
        "padding=longest max_tokens=180 elementwise=unfused checkpointing=block",
        "padding=longest max_tokens=300 group_by_length=no input=decoded workers=1",
    };
    const char *base = "model=light tokens=45 batch=16 accumulate=4 launch=eager precision=fp32";

    compare(*state, base, same, ARRAY_SIZE(same), 0);
    compare(*state, base, others, ARRAY_SIZE(others),
            device_properties(*state)->is_gpu ? 1e-4 : 1e-5);
}

TEST(bf16_stays_close_to_fp32)
{
    static const char *const others[] = { "precision=bf16", "precision=bf16 elementwise=unfused" };

    compare(*state, "model=light batch=8 launch=eager precision=fp32", others, ARRAY_SIZE(others),
            2e-2);
    compare(*state, "model=balanced launch=eager precision=fp32", others, 1, 2e-2);
}

TEST(fused_attention_computes_what_naive_does)
{
    static const char *const others[] = { "attention=fused",
                                          "attention=fused checkpointing=block launch=graph" };

    double limit = device_properties(*state)->is_gpu ? 1e-4 : 1e-5; /* as above */

    compare(*state, "model=light tokens=45 batch=8 launch=eager precision=fp32", others,
            ARRAY_SIZE(others), limit);
    compare(*state, "model=balanced launch=eager precision=fp32", others, 1, limit);
    compare(*state, "model=light tokens=45 batch=8 launch=eager precision=bf16", others, 1, 2e-2);
}

/* In fp32 it is our own on every device; a library's may add up dq in any order. */
TEST(fused_attention_is_the_same_to_the_bit)
{
    static const char *const others[] = { "launch=graph", "checkpointing=block",
                                          "launch=graph checkpointing=block" };

    compare(*state, "attention=fused model=light tokens=45 batch=4 launch=eager precision=fp32",
            others, ARRAY_SIZE(others), 0);
}

static struct training_window window_of(struct device *device, const char *settings, int64_t steps)
{
    struct training *training = open_training(device, settings);
    struct training_window window = { 0 };

    assert_ok(training_run(training, 5));
    assert_ok(training_window(training, steps, &window));
    training_close(training);
    return window;
}

static double metric_over(struct device *device, const char *settings, int64_t steps,
                          enum metric metric)
{
    struct training_window window = window_of(device, settings, steps);
    double value = window.metric[metric];

    training_window_release(&window);
    return value;
}

static double metric_of(struct device *device, const char *settings, enum metric metric)
{
    return metric_over(device, settings, 40, metric);
}

/* Steps of one size are alike: a few have the peak of all. */
static double activation_peak(struct device *device, const char *settings)
{
    return metric_over(device, settings, 3, METRIC_ACTIVATION_PEAK);
}

TEST(the_loss_is_waited_for_as_often_as_it_is_read)
{
    const char *every = "model=balanced input=decoded workers=0 launch=graph loss_every=1";
    const char *seldom = "model=balanced input=decoded workers=0 launch=graph loss_every=20";

    assert_near(metric_of(*state, every, METRIC_SYNCS_PER_STEP), 1, 0);
    assert_near(metric_of(*state, seldom, METRIC_SYNCS_PER_STEP), 0.05, 1e-9);
}

TEST(a_graph_is_one_launch)
{
    double eager = metric_of(*state, "model=light launch=eager", METRIC_LAUNCHES_PER_STEP);

    assert_true(eager > 100);
    assert_near(metric_of(*state, "model=light launch=graph", METRIC_LAUNCHES_PER_STEP), 1, 0);
    assert_true(metric_of(*state, "model=light launch=eager elementwise=unfused",
                          METRIC_LAUNCHES_PER_STEP) > eager);
}

/* Two steps of a length are eager. Then it has a graph, for good or until another length comes. */
TEST(a_length_is_captured_once_or_whenever_it_comes_back)
{
    enum { LENGTHS = 13, RUN = 40 };

    for (int latest = 0; latest < 2; latest++) {
        char settings[256];
        struct training *training;
        int seen[LENGTHS] = { 0 }, captured = 0, kept = 0, lengths = 0;

        snprintf(settings, sizeof settings,
                 "model=light tokens=12 padding=longest pad_to_multiple_of=4 graphs=%s",
                 latest ? "latest" : "per_shape");
        training = open_training(*state, settings);
        for (int i = 0; i < RUN; i++) {
            int tokens;

            assert_ok(training_run(training, 1));
            tokens = micro_batch_encoder(training->micro_batches, 0)->shape.tokens;
            assert_true(tokens % 4 == 0 && tokens < LENGTHS);
            seen[tokens]++;
            if (latest ? seen[tokens] > 2 && kept != tokens : seen[tokens] == 3) {
                captured++;
                kept = tokens;
            }
            assert_int_equal(training->captures, captured);
        }
        for (int tokens = 0; tokens < LENGTHS; tokens++) {
            bool has = training->graphs[tokens * TRANSFER_INPUTS].graph != NULL;
            assert_true(has == (latest ? tokens == kept : seen[tokens] > 2));
            lengths += seen[tokens] > 2;
        }
        assert_int_equal(lengths, 3);
        assert_true(latest ? captured > RUN / 4 : captured == 3);
        training_close(training);
    }
}

/* A step of eight updates is eight steps of one, on the same samples: the same weights, and its
 * loss is the mean of theirs. */
TEST(updates_within_a_step_are_those_of_smaller_steps)
{
    enum { UPDATES = 8 };
    static const char *const launches[] = { "eager", "graph" };
    float each[STEPS * UPDATES], of_steps[STEPS], together[STEPS];

    run_losses(*state, "model=light batch=1", STEPS * UPDATES, each);
    run_losses(*state, "model=light batch=8 accumulate=8", STEPS, together);
    for (size_t i = 0; i < ARRAY_SIZE(launches); i++) {
        char settings[128];

        snprintf(settings, sizeof settings,
                 "model=light batch=8 accumulate=8 update=micro_batch launch=%s", launches[i]);
        run_losses(*state, settings, STEPS, of_steps);
        for (int step = 0; step < STEPS; step++) {
            double mean = 0;
            for (int j = 0; j < UPDATES; j++) mean += (double)each[step * UPDATES + j] / UPDATES;
            assert_near((double)of_steps[step], mean, 1e-6 * mean);
        }
        assert_true(difference(together, of_steps) > 1e-3);
    }
}

/* The loss, read every 20 steps, is one more wait. */
TEST(blocking_launches_wait_one_by_one)
{
    static const char *const settings = "model=light loss_every=20 launch=%s";
    double launches;
    char blocking[128], eager[128];

    snprintf(blocking, sizeof blocking, settings, "blocking");
    snprintf(eager, sizeof eager, settings, "eager");
    launches = metric_of(*state, eager, METRIC_LAUNCHES_PER_STEP);
    assert_near(metric_of(*state, blocking, METRIC_LAUNCHES_PER_STEP), launches, 0);
    assert_near(metric_of(*state, blocking, METRIC_SYNCS_PER_STEP), launches + 0.05, 1e-9);
    assert_near(metric_of(*state, eager, METRIC_SYNCS_PER_STEP), 0.05, 1e-9);
}

/* The host waits for the norm in every step, and launches a kernel more where the gradients are
 * clipped. */
TEST(clipping_from_the_host_waits_in_every_step)
{
    static const char *const settings = "model=light launch=eager loss_every=20 clipping=%s";
    char host[128], by_itself[128];

    snprintf(host, sizeof host, settings, "host");
    snprintf(by_itself, sizeof by_itself, settings, "device");
    assert_near(metric_of(*state, host, METRIC_SYNCS_PER_STEP), 1.05, 1e-9);
    assert_near(metric_of(*state, by_itself, METRIC_SYNCS_PER_STEP), 0.05, 1e-9);
    assert_true(metric_of(*state, host, METRIC_LAUNCHES_PER_STEP) >
                metric_of(*state, by_itself, METRIC_LAUNCHES_PER_STEP));
}

/* Samples with less than the mean loss have no gradient: other losses than with all, and the same
 * ones either way. */
TEST(both_ways_select_the_same_samples)
{
    static const char *const others[] = { "launch=eager selection=masked",
                                          "launch=graph selection=masked",
                                          "launch=eager selection=counted checkpointing=block" };
    static const char *const bases[] = {
        "model=balanced launch=eager selection=counted batch=16",
        "model=light launch=eager selection=counted batch=16 precision=bf16"
    };
    float all[STEPS], hard[STEPS];

    for (size_t i = 0; i < ARRAY_SIZE(bases); i++)
        compare(*state, bases[i], others, ARRAY_SIZE(others), 0);
    run_losses(*state, "model=balanced launch=eager batch=16", STEPS, all);
    run_losses(*state, bases[0], STEPS, hard);
    assert_true(all[0] == hard[0]);
    assert_true(all[STEPS - 1] != hard[STEPS - 1]);
    assert_near(metric_of(*state, "model=light launch=eager selection=counted batch=16",
                          METRIC_SYNCS_PER_STEP),
                1.05, 1e-9);
    assert_near(metric_of(*state, "model=light launch=eager selection=masked batch=16",
                          METRIC_SYNCS_PER_STEP),
                0.05, 1e-9);
}

TEST(wide_pixels_are_four_times_the_bytes_and_the_same_bits)
{
    static const char *const base =
        "model=balanced batch=8 tokens=17 patch=8 crop=2 input=%s workers=1 pixels=%s";
    static const char *const inputs[] = { "resident", "loaded", "cached", "decoded" };
    char bytes[128], floats[128];
    const char *others[] = { floats };

    for (size_t i = 0; i < ARRAY_SIZE(inputs); i++) {
        snprintf(bytes, sizeof bytes, base, inputs[i], "bytes");
        snprintf(floats, sizeof floats, base, inputs[i], "fp32");
        compare(*state, bytes, others, 1, 0);
    }
    assert_near(metric_of(*state, floats, METRIC_H2D_BYTES_PER_STEP), 8 * 64 * 64 * 3 * 4 + 512, 0);
    assert_near(metric_of(*state, bytes, METRIC_H2D_BYTES_PER_STEP), 8 * 64 * 64 * 3 + 512, 0);
}

static int64_t right_after(struct device *device, const char *settings, const char *accuracy)
{
    char text[256];
    struct training *training;
    int64_t right;

    snprintf(text, sizeof text, "%s accuracy=%s", settings, accuracy);
    training = open_training(device, text);
    assert_ok(training_run(training, 12));
    assert_ok(training_right(training, &right));
    training_close(training);
    return right;
}

TEST(both_ways_count_the_same_samples_as_right)
{
    static const char *const settings[] = {
        "model=balanced launch=eager precision=fp32",
        "model=balanced launch=graph precision=bf16 checkpointing=block",
        "model=light launch=eager precision=fp16 batch=16",
        "model=light launch=graph batch=16 padding=longest input=decoded workers=1",
        "model=light launch=eager batch=16 kept_loss=graph",
    };

    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        int64_t right = right_after(*state, settings[i], "host");
        assert_int_equal(right_after(*state, settings[i], "device"), right);
        assert_in_range(right, 1, 12 * 64);
        assert_int_equal(right_after(*state, settings[i], "none"), 0);
    }
    assert_in_range(right_after(*state, "model=light batch=16 accumulate=4", "device"), 1, 12 * 16);
}

TEST(an_accuracy_of_the_host_waits_in_every_step)
{
    static const char *const settings = "model=light launch=eager loss_every=20 accuracy=%s";
    char host[128], by_itself[128];
    double accuracy;

    snprintf(host, sizeof host, settings, "host");
    snprintf(by_itself, sizeof by_itself, settings, "device");
    assert_near(metric_of(*state, host, METRIC_SYNCS_PER_STEP), 2.05, 1e-9);
    assert_near(metric_of(*state, by_itself, METRIC_SYNCS_PER_STEP), 0.05, 1e-9);
    assert_near(metric_of(*state, by_itself, METRIC_D2H_BYTES_PER_STEP), 0.2, 1e-9);
    accuracy = metric_of(*state, host, METRIC_ACCURACY);
    assert_true(accuracy > 0 && accuracy <= 1);
    assert_near(metric_of(*state, by_itself, METRIC_ACCURACY), accuracy, 1e-12);
    assert_true(isnan(metric_of(*state, "model=light", METRIC_ACCURACY)));
}

static int64_t timed_steps(struct device *device, const char *settings, int64_t steps)
{
    struct training *training = open_training(device, settings);
    int64_t timed;

    assert_ok(training_run(training, steps));
    timed = training->reported_steps;
    training_close(training);
    return timed;
}

TEST(timers_wait_and_count_as_they_say)
{
    static const struct {
        const char *settings;
        double syncs;
        int64_t steps;
    } timers[] = {
        { "model=light loss_every=20 timer=no", 0.05, 0 },
        { "model=light loss_every=20 timer=queue", 0.05, 12 },
        { "model=light loss_every=20 timer=cold", 1.05, TIMER_COLD_STEPS },
        { "model=light loss_every=20 timer=end", 1.05, 12 },
    };
    double reported;

    for (size_t i = 0; i < ARRAY_SIZE(timers); i++) {
        assert_near(metric_of(*state, timers[i].settings, METRIC_SYNCS_PER_STEP), timers[i].syncs,
                    1e-9);
        assert_int_equal(timed_steps(*state, timers[i].settings, 12), timers[i].steps);
    }
    assert_true(isnan(metric_of(*state, timers[0].settings, METRIC_REPORTED_STEP_TIME)));
    assert_true(metric_of(*state, timers[2].settings, METRIC_REPORTED_STEP_TIME) > 0);
    for (int i = 1; i <= 3; i += 2) { /* of the window's own steps: no more than the window */
        reported = metric_of(*state, timers[i].settings, METRIC_REPORTED_OVER_TRUE);
        assert_true(reported > 0 && reported <= 1);
    }
}

/* One launch per tensor against one for all, and six. The norm: one per tensor against one for
 * all. */
TEST(optimizer_forms_launch_what_they_say)
{
    struct training *training = open_training(*state, "model=light");
    double tensors = training->encoder->parameter_count;
    double multi, per_tensor, unfused;

    training_close(training);
    multi = metric_of(*state, "model=light launch=eager", METRIC_LAUNCHES_PER_STEP);
    per_tensor = metric_of(*state, "model=light launch=eager optimizer=per_tensor",
                           METRIC_LAUNCHES_PER_STEP);
    unfused =
        metric_of(*state, "model=light launch=eager optimizer=unfused", METRIC_LAUNCHES_PER_STEP);
    assert_near(per_tensor - multi, 2 * (tensors - 1), 1e-9);
    assert_near(unfused - per_tensor, 5 * tensors, 1e-9);
}

TEST(a_caching_allocator_asks_the_device_for_nothing_more)
{
    const char *direct = "model=light launch=eager allocation=direct";

    assert_near(metric_of(*state, "model=light launch=eager", METRIC_ALLOCATIONS_PER_STEP), 0, 0);
    assert_true(metric_of(*state, direct, METRIC_ALLOCATIONS_PER_STEP) > 50);
}

/* A step's reserved memory comes and goes whole: the peaks are those of a cache that is kept. */
TEST(a_cache_that_is_emptied_is_filled_again_to_the_same_peak)
{
    const char *kept = "model=balanced batch=32 launch=eager empty_cache_every=never";
    struct training *training = open_training(*state, kept), *emptied;
    struct allocator_statistics with, without;

    assert_ok(training_run(training, 6));
    with = allocator_statistics(training->allocator);
    emptied = open_training(*state, "model=balanced batch=32 launch=eager empty_cache_every=3");
    for (int step = 1; step <= 6; step++) {
        int64_t calls = allocator_statistics(emptied->allocator).device_allocations;
        assert_ok(training_run(emptied, 1));
        without = allocator_statistics(emptied->allocator);
        if (step == 1)
            continue;
        /* After the third step and the sixth the cache is empty; the fourth fills it. */
        assert_true((without.reserved < with.reserved) == (step % 3 == 0));
        assert_true((without.device_allocations > calls) == (step == 4));
    }
    assert_int_equal(with.peak_all, without.peak_all);
    assert_int_equal(with.peak_reserved, without.peak_reserved);
    training_close(training);
    training_close(emptied);
}

TEST(one_batch_is_one_copy_or_one_a_tensor)
{
    const char *one = "model=balanced input=decoded transfer=inline";
    const char *many = "model=balanced input=decoded transfer=inline copies=per_tensor";
    /* 40 steps read the loss twice. */
    double reads = 2 / 40.0;

    const char *overlapped = "model=balanced input=loaded launch=graph transfer=overlapped";

    assert_near(metric_of(*state, one, METRIC_COPIES_PER_STEP), 1 + reads, 1e-9);
    assert_near(metric_of(*state, overlapped, METRIC_COPIES_PER_STEP), 1 + reads, 1e-9);
    assert_near(metric_of(*state, many, METRIC_COPIES_PER_STEP), 8 + 2 + reads, 1e-9);
    assert_near(metric_of(*state,
                          "model=light batch=4 input=decoded transfer=inline copies=per_tensor",
                          METRIC_COPIES_PER_STEP),
                4 + 2 + reads, 1e-9);
}

TEST(a_blocking_transfer_waits_for_each_copy_within_the_step)
{
    struct training_window window =
        window_of(*state, "model=balanced input=cached transfer=blocking copies=per_tensor", 40);

    assert_near(window.metric[METRIC_SYNCS_PER_STEP], 8 + 2 + 2 / 40.0, 1e-9);
    assert_near(window.metric[METRIC_D2H_BYTES_PER_STEP], 2 * sizeof(float) / 40.0, 1e-9);
    assert_true(window.metric[METRIC_TRANSFER_TIME] > 0);
    assert_true(window.metric[METRIC_TRANSFER_TIME] + window.metric[METRIC_SUBMISSION_TIME] <
                window.metric[METRIC_STEP_TIME]);
    training_window_release(&window);
}

TEST(gelu_on_the_host_goes_there_and_back_once_per_block)
{
    static const char *const others[] = { "gelu=host" };
    const char *settings = "model=light batch=8 tokens=8 width=32 blocks=3 precision=fp32 "
                           "launch=eager gelu=host";
    struct training_window window = window_of(*state, settings, 40);
    double hidden = 8 * 8 * 4 * 32 * sizeof(float), reads = 2 / 40.0;

    assert_near(window.metric[METRIC_D2H_BYTES_PER_STEP], 3 * hidden + reads * sizeof(float), 1e-6);
    assert_near(window.metric[METRIC_H2D_BYTES_PER_STEP], 3 * hidden, 1e-6);
    assert_near(window.metric[METRIC_SYNCS_PER_STEP], 3 + reads, 1e-9);
    training_window_release(&window);
    compare(*state, "model=light batch=8 launch=eager precision=bf16 elementwise=unfused", others,
            1, 2e-2);
}

TEST(checkpointing_keeps_a_third_or_less)
{
    const char *all = "model=heavy launch=eager",
               *few = "model=heavy launch=eager checkpointing=block";
    struct training *training = open_training(*state, few);
    const struct program *program = training->encoder->train;
    int recomputed = 0;

    for (int i = 0; i < program_length(program); i++) {
        struct program_entry entry = program_entry(program, i);
        recomputed += entry.recomputed;
        /* Work that only makes the block's output is not done again. */
        assert_false(entry.recomputed && strstr(entry.op->name, "residual2") != NULL);
        assert_false(entry.recomputed && strstr(entry.op->name, "contract_linear") != NULL);
    }
    assert_true(recomputed >= 8 * training->encoder->shape.blocks);
    training_close(training);
    assert_true(activation_peak(*state, all) >= 3 * activation_peak(*state, few));
    assert_near(activation_peak(*state, few), activation_peak(*state, few), 0);
}

/* The activations that a step keeps for backward, and those that it has at its peak. The sizes are
 * such that the allocator rounds none up. */
static void checkpointed_bytes(struct device *device, const char *checkpointing, int64_t *kept,
                               int64_t *peak)
{
    struct training_window window = { 0 };
    struct training *training;
    char settings[200];

    snprintf(settings, sizeof settings,
             "model=light batch=16 tokens=32 width=64 blocks=12 precision=fp32 launch=eager "
             "checkpointing=%s",
             checkpointing);
    *peak = (int64_t)activation_peak(device, settings);
    strcat(settings, " kept_loss=graph");
    training = open_training(device, settings);
    assert_ok(training_window(training, 1, &window));
    *kept = allocator_statistics(training->allocator).allocated[MEMORY_ACTIVATIONS];
    training_window_release(&window);
    training_close(training);
}

/* One input per segment is kept. At the peak the blocks of the last full segment are there too; the
 * inputs of shorter segments behind it are free again. */
TEST(checkpointing_keeps_the_input_of_every_kth_block)
{
    enum { INPUT = 16 * 32 * 64 * sizeof(float) };
    static const struct {
        const char *value;
        int blocks, segments, full;
    } cases[] = {
        { "block", 1, 12, 12 }, { "2", 2, 6, 6 }, { "3", 3, 4, 4 },   { "4", 4, 3, 3 },
        { "5", 5, 3, 2 },       { "8", 8, 2, 1 }, { "12", 12, 1, 1 }, { "20", 12, 1, 1 }
    };
    int64_t kept[ARRAY_SIZE(cases)], peak[ARRAY_SIZE(cases)], a_block;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        checkpointed_bytes(*state, cases[i].value, &kept[i], &peak[i]);
    a_block = peak[1] - peak[0] + (int64_t)(cases[0].full - cases[1].full) * INPUT;
    assert_true(a_block > 10 * INPUT);
    for (size_t i = 1; i < ARRAY_SIZE(cases); i++) {
        int64_t blocks = cases[i].blocks - cases[0].blocks, full = cases[0].full - cases[i].full;
        assert_int_equal(kept[0] - kept[i], (cases[0].segments - cases[i].segments) * INPUT);
        assert_int_equal(peak[i] - peak[0], blocks * a_block - full * INPUT);
    }
}

/* Twice the tokens: scores take four times the bytes, all else twice. */
TEST(fused_attention_keeps_no_square_of_the_tokens)
{
    double bytes[2][2];

    for (int fused = 0; fused < 2; fused++)
        for (int twice = 0; twice < 2; twice++) {
            char settings[128];
            snprintf(settings, sizeof settings, "model=light tokens=%d precision=fp32 attention=%s",
                     twice ? 1024 : 512, fused ? "fused" : "naive");
            bytes[fused][twice] = activation_peak(*state, settings);
        }
    assert_true(bytes[0][1] > 2.5 * bytes[0][0]);
    assert_near(bytes[1][1], 2 * bytes[1][0], 0.01 * bytes[1][1]);
    assert_true(bytes[0][1] > 2.5 * bytes[1][1]);
}

/* Resolved with the sizes of a GPU, made small enough for this test: a batch of one sample. */
static struct training_config of_a_gpu(struct device *device, const char *settings)
{
    struct device_properties sizes = *device_properties(device);
    struct training_config config;

    sizes.is_gpu = sizes.is_large = true;
    sizes.memory_bytes = (int64_t)1 << 40;
    knobs_defaults(&config);
    assert_ok(knobs_apply(&config, settings));
    assert_ok(knobs_resolve(&config, &sizes));
    return config;
}

static double peak_of(struct device *device, const struct training_config *config,
                      enum metric metric)
{
    struct training *training = NULL;
    struct training_window window = { 0 };
    double peak;

    assert_ok(training_open(&training, device, config));
    assert_ok(training_window(training, 1, &window));
    peak = window.metric[metric];
    training_window_release(&window);
    training_close(training);
    return peak;
}

/* The finding activation_memory wants a peak of nine tenths of the budget, and the step has to
 * fit. */
TEST(a_roles_budget_is_a_little_more_than_the_peak)
{
    static const char *const settings[] = {
        "model=heavy precision=bf16",
        "model=heavy precision=fp32",
        "model=heavy precision=bf16 batch=4 accumulate=2",
        "model=heavy precision=fp32 width=256 blocks=3",
    };

    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        char text[160];
        struct training_config config;
        double share;

        snprintf(text, sizeof text, "%s attention=naive memory_budget=role", settings[i]);
        config = config_of(*state, text);
        share = peak_of(*state, &config, METRIC_MEMORY_PEAK) / (double)config.allocator.budget;
        if (!(share >= 0.905 && share <= 0.95))
            fail_msg("%s: the peak is %.3f of the budget", text, share);
    }
    assert_int_equal(config_of(*state, "model=balanced memory_budget=role").allocator.budget, 0);
}

/* The micro-batch that fits, fits, and a larger one does not. */
TEST(a_micro_batch_that_fits_fills_the_budget)
{
    static const char *const segments[] = { "none", "4", "block" };
    const struct scenario *scenario = scenario_find("memory_for_batch");

    for (size_t i = 0; i < 2 * ARRAY_SIZE(segments); i++) {
        char text[256];
        struct training_config config;
        struct training *training = NULL;
        double share;

        snprintf(text, sizeof text, "%s checkpointing=%s", scenario->base, segments[i / 2]);
        config = i % 2 ? of_a_gpu(*state, text) : config_of(*state, text);
        share = peak_of(*state, &config, METRIC_MEMORY_PEAK) / (double)config.allocator.budget;
        if (!(share >= 0.8 && share <= 1))
            fail_msg("%s: the peak is %.3f of the budget", text, share);
        if (config.model.checkpointing > 0)
            continue;
        assert_int_equal(config.launch.accumulate, config.model.batch);
        config.launch.accumulate = config.model.batch / 2;
        config.loader.batching.micro_batches = config.launch.accumulate;
        assert_ok(training_open(&training, *state, &config));
        assert_int_equal(training_run(training, 1), STATUS_DEVICE_OUT_OF_MEMORY);
        training_close(training);
    }
}

TEST(a_steps_peak_is_known_from_the_settings)
{
    static const char *const of_gpus[] = { "model=heavy blocks=2 batch=1 precision=bf16",
                                           "model=heavy blocks=2 batch=1 precision=fp32" };
    static const char *const settings[] = { "model=balanced precision=bf16",
                                            "model=balanced precision=fp32",
                                            "model=heavy precision=bf16 tokens=65 batch=16" };

    for (size_t i = 0; i < ARRAY_SIZE(settings) + ARRAY_SIZE(of_gpus); i++) {
        bool gpu = i >= ARRAY_SIZE(settings);
        const char *text = gpu ? of_gpus[i - ARRAY_SIZE(settings)] : settings[i];
        struct training_config config = gpu ? of_a_gpu(*state, text) : config_of(*state, text);
        double ratio;

        config.model.attention = ATTENTION_NAIVE;
        ratio = peak_of(*state, &config, METRIC_MEMORY_PEAK) / step_memory_peak(&config);
        if (!(ratio >= 1 && ratio <= 1.03))
            fail_msg("%s: %.4f of the peak that was computed", text, ratio);
    }
}

/* The promise of the scenario naive_attention for a GPU, whose heads are wider. */
TEST(naive_attention_keeps_its_promise_with_a_gpus_heads)
{
    const struct scenario *naive = scenario_find("naive_attention");
    double peaks[VARIANT_COUNT];
    bool promised = false;

    for (int variant = 0; variant < VARIANT_COUNT; variant++) {
        char text[160];
        struct training_config config;
        snprintf(text, sizeof text, "%s batch=1 data=sequences attention=%s", naive->base,
                 variant == VARIANT_BEFORE ? "naive" : "fused");
        config = of_a_gpu(*state, text);
        assert_int_equal(config.model.head_width, 64);
        peaks[variant] = peak_of(*state, &config, METRIC_ACTIVATION_PEAK);
    }
    for (const struct expectation *e = naive->expect; !expectation_is_end(e); e++)
        if (e->metric == METRIC_ACTIVATION_PEAK && e->where == WHERE_CUDA) {
            promised = true;
            if (!(peaks[VARIANT_BEFORE] >= 1.05 * e->at_least * peaks[VARIANT_AFTER]))
                fail_msg("%.3f times less, at least %.2f", peaks[0] / peaks[1], e->at_least);
        }
    assert_true(promised);
}

/* However many workers there are: in pinned memory a batch that nobody reads costs most. */
TEST(resident_input_loads_only_what_it_keeps)
{
    enum { BATCH = 256, KEPT_AT_MOST = 1024 / BATCH, TAKEN = 1, OTHERS = 1 };
    struct device *device = *state;
    int64_t before = device_counters(device).host_allocations;
    struct training *training =
        open_training(device, "model=light input=resident workers=16 prefetch=2 batch=256");
    int64_t allocations = device_counters(device).host_allocations - before;

    assert_int_equal(dataset_count(training->dataset, SPLIT_TRAIN) / BATCH, KEPT_AT_MOST);
    if (allocations > KEPT_AT_MOST + TAKEN + OTHERS)
        fail_msg("%lld pieces of host memory for %d batches", (long long)allocations, KEPT_AT_MOST);
    training_close(training);
}

TEST(nothing_stays_allocated_but_what_lives_on)
{
    struct training *training = open_training(*state, "model=light launch=eager");
    struct allocator_statistics before, after;

    assert_ok(training_run(training, 1));
    before = allocator_statistics(training->allocator);
    assert_ok(training_run(training, 5));
    after = allocator_statistics(training->allocator);
    assert_int_equal(before.allocated[MEMORY_ACTIVATIONS], 0);
    assert_int_equal(before.allocated[MEMORY_ACTIVATION_GRADIENTS], 0);
    assert_int_equal(before.allocated_all, after.allocated_all);
    assert_int_equal(before.peak_all, after.peak_all);
    training_close(training);
}

/* An epoch of 1024 samples is 4 steps: step N of an epoch ends with the activations of N steps.
 * Returns those of one. */
static int64_t kept_by_a_step(struct device *device, const char *settings)
{
    struct training *training = open_training(device, settings);
    int64_t one = 0;

    for (int step = 0; step < 9; step++) {
        struct allocator_statistics now;
        struct training_window window = { 0 };

        assert_ok(training_window(training, 1, &window));
        now = allocator_statistics(training->allocator);
        if (step == 0)
            one = now.allocated[MEMORY_ACTIVATIONS];
        assert_int_equal(now.allocated[MEMORY_ACTIVATIONS], (step % 4 + 1) * one);
        assert_int_equal(now.allocated[MEMORY_ACTIVATION_GRADIENTS], 0);
        assert_near(window.metric[METRIC_MEMORY_GROWTH], (double)one, 0);
        training_window_release(&window);
    }
    training_close(training);
    return one;
}

TEST(a_kept_loss_keeps_the_activations_of_its_step_until_the_epoch_ends)
{
    const char *number = "model=light batch=256 launch=eager kept_loss=number";
    int64_t peak = (int64_t)activation_peak(*state, number);
    int64_t all = kept_by_a_step(*state, "model=light batch=256 launch=eager kept_loss=graph");

    assert_int_equal(kept_by_a_step(*state, number), 0);
    /* At its peak a step has activations that only forward needs, but few. */
    assert_true(all <= peak && all > peak * 9 / 10);
    assert_int_equal(
        kept_by_a_step(*state, "model=light batch=256 launch=eager kept_loss=graph accumulate=4"),
        all);
    assert_true(kept_by_a_step(*state, "model=light batch=256 launch=eager kept_loss=graph "
                                       "checkpointing=block") < all / 3);
}

/* Reserved over allocated after enough lengths. */
static double reserved_ratio(struct device *device, const char *settings, double *peak)
{
    char text[512];
    struct training_window window;
    double ratio;

    snprintf(text, sizeof text, "%s %s", scenario_find("fragmentation")->base, settings);
    window = window_of(device, text, 30);
    ratio = window.metric[METRIC_RESERVED_RATIO];
    *peak = window.metric[METRIC_MEMORY_PEAK];
    training_window_release(&window);
    return ratio;
}

TEST(lengths_that_vary_leave_pieces_that_do_not_fit)
{
    double exact_peak, rounded_peak, even_peak;
    double exact = reserved_ratio(*state, "segments=exact", &exact_peak);
    double rounded = reserved_ratio(*state, "segments=rounded", &rounded_peak);
    double even = reserved_ratio(*state, "segments=exact padding=max_length", &even_peak);

    assert_near(exact_peak, rounded_peak, 0);
    assert_true(exact > 2 && rounded < 1.5);
    assert_true(even < 1.25); /* the lengths are what does it */
}

TEST(memory_metrics_are_the_allocators_own)
{
    struct training *training = open_training(*state, "model=balanced batch=32 launch=eager");
    struct training_window window = { 0 };
    struct allocator_statistics memory;

    assert_ok(training_window(training, 6, &window));
    memory = allocator_statistics(training->allocator);
    assert_near(window.metric[METRIC_MEMORY_PEAK], (double)memory.peak_all, 0);
    assert_near(window.metric[METRIC_MEMORY_RESERVED], (double)memory.peak_reserved, 0);
    assert_near(window.metric[METRIC_RESERVED_RATIO] * (double)memory.peak_all,
                (double)memory.peak_reserved, 1);
    assert_true(window.metric[METRIC_RESERVED_RATIO] >= 1);
    assert_near(window.metric[METRIC_MEMORY_GROWTH], 0, 0);
    assert_true(window.metric[METRIC_HOST_MEMORY] > 1e6);
    training_window_release(&window);
    training_close(training);
}

TEST(a_window_counts_its_steps_and_samples)
{
    struct training_window window = window_of(*state, "model=balanced", 10);

    assert_int_equal(window.steps, 10);
    assert_int_equal(window.samples, 80);
    assert_int_equal(window.step_count, 9);
    for (int i = 0; i < window.step_count; i++) assert_true(window.step_ns[i] > 0);
    assert_true(window.wall_ns > 0);
    assert_near(window.metric[METRIC_STEP_TIME], (double)window.wall_ns / 10 / 1e3, 1e-6);
    training_window_release(&window);
}

/* The 95th percentile of 9 steps is between the two longest. */
static int by_length(const void *a, const void *b)
{
    return *(const int32_t *)a - *(const int32_t *)b;
}

/* A step trains on all training samples, whose lengths are known: grouped, every eighth of them in
 * order of length sets the length of its micro-batch. */
TEST(a_window_counts_its_padding)
{
    const char *base = "model=light tokens=20 batch=1024 accumulate=128 blocks=1 launch=eager";
    struct training_config config = config_of(*state, base);
    int32_t lengths[SEQUENCES_TRAIN];
    double tokens = 0, grouped = 0, steps = 2;
    struct training_window window;

    for (uint32_t i = 0; i < SEQUENCES_TRAIN; i++) {
        lengths[i] = sequence_length(&config.data, SPLIT_TRAIN, i);
        tokens += lengths[i];
    }
    qsort(lengths, SEQUENCES_TRAIN, sizeof *lengths, by_length);
    for (int i = 7; i < SEQUENCES_TRAIN; i += 8) grouped += 8 * ((lengths[i] + 3) / 4 * 4);
    for (int i = 0; i < 2; i++) {
        double computed = i == 0 ? 1024 * 20 : grouped;
        char settings[256];

        snprintf(settings, sizeof settings, "%s pad_to_multiple_of=4 padding=%s", base,
                 i == 0 ? "max_length" : "longest");
        window = window_of(*state, settings, (int64_t)steps);
        assert_int_equal(window.counts.tokens, (int64_t)(steps * tokens));
        assert_int_equal(window.counts.padded_tokens, (int64_t)(steps * (computed - tokens)));
        assert_near(window.metric[METRIC_PADDING_SHARE], 1 - tokens / computed, 1e-12);
        assert_near(window.metric[METRIC_TOKENS_PER_SECOND] * (double)window.wall_ns / 1e9,
                    steps * tokens, 1e-3);
        training_window_release(&window);
    }
    window = window_of(*state, "model=balanced", 3);
    assert_int_equal(window.counts.tokens, 3 * 8 * 17);
    assert_true(window.metric[METRIC_PADDING_SHARE] == 0);
    training_window_release(&window);
}

/* Eight micro-batches of two samples have room for 90 tokens each. */
TEST(a_budget_of_tokens_takes_fewer_micro_batches)
{
    static const char *const base = "model=light tokens=45 batch=16 accumulate=8 launch=eager "
                                    "padding=longest max_tokens=";
    static const enum metric metrics[] = { METRIC_MICRO_BATCH, METRIC_LAUNCHES_PER_STEP,
                                           METRIC_ACTIVATION_PEAK };
    static const char *const budgets[] = { "none", "90", "720" };
    double of[ARRAY_SIZE(budgets)][ARRAY_SIZE(metrics)];

    for (size_t b = 0; b < ARRAY_SIZE(budgets); b++) {
        char settings[256];
        struct training_window window;

        snprintf(settings, sizeof settings, "%s%s", base, budgets[b]);
        window = window_of(*state, settings, 64);
        for (size_t m = 0; m < ARRAY_SIZE(metrics); m++) of[b][m] = window.metric[metrics[m]];
        training_window_release(&window);
    }
    assert_true(of[0][0] == 2 && of[1][0] > 2.1 && of[2][0] == 16);
    assert_true(of[1][1] < of[0][1] / 1.05 && of[2][1] < of[0][1] / 6);
    /* No more memory for it. */
    assert_true(of[1][2] < 1.1 * of[0][2] && of[2][2] > 4 * of[0][2]);
}

/* Forward's products, by the sizes alone: queries, keys, values, output and the MLP's two; the
 * scores and their product with the values; what makes tokens of patches, and the classifier. */
static double forward_flops(const struct model_shape *shape, double *embedding)
{
    double width = shape->width, rows = shape->rows;
    double block =
        2 * rows * width * width * (3 + 1 + 4 + 4) +
        4.0 * shape->samples * shape->heads * shape->tokens * shape->tokens * shape->head_width;

    *embedding = 2.0 * shape->samples * (shape->tokens - 1) * shape->patch_width * width;
    return shape->blocks * block + *embedding + 2.0 * shape->samples * width * shape->classes_width;
}

/* Backward takes two products for each of forward's, but for the first, whose input is data. How
 * the step is done changes nothing: what is computed again is no progress. */
TEST(model_flops_count_each_product_once)
{
    static const char *const settings[] = {
        "model=balanced",
        "model=balanced checkpointing=block",
        "model=balanced attention=fused",
        "model=balanced attention=fused checkpointing=block",
        "model=balanced attention=fused heads=strided",
        "model=balanced elementwise=unfused",
        "model=balanced batch=8 accumulate=4",
    };
    double once = 0;

    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        if (strstr(settings[i], "strided") != NULL && !takes_strides(*state))
            continue;
        struct training *training = open_training(*state, settings[i]);
        const struct encoder *encoder = training->encoder;
        double embedding, forward = forward_flops(&encoder->shape, &embedding);
        double flops = (double)program_model_flops(encoder->train);
        struct training_window window = { 0 };
        assert_near(flops, 3 * forward - embedding, 0);
        assert_true((double)program_flops(encoder->train) >= flops);
        if (strstr(settings[i], "=fused") != NULL || strstr(settings[i], "=block") != NULL)
            assert_true((double)program_flops(encoder->train) > flops);
        assert_ok(training_window(training, 3, &window));
        if (i == 0)
            once = window.metric[METRIC_MODEL_FLOPS_PER_STEP];
        assert_near(window.metric[METRIC_MODEL_FLOPS_PER_STEP], once, 0);
        assert_near(window.metric[METRIC_MODEL_FLOPS_PER_SECOND],
                    3 * once / ((double)window.wall_ns / 1e9), 1);
        assert_near(window.metric[METRIC_OP_BYTES_PER_SECOND] *
                        (window.metric[METRIC_FORWARD_TIME] + window.metric[METRIC_BACKWARD_TIME]) /
                        1e6,
                    window.metric[METRIC_OP_BYTES_PER_STEP], 1);
        training_window_release(&window);
        training_close(training);
    }
}

TEST(a_windows_spread_is_that_of_its_single_steps)
{
    struct training_window window = window_of(*state, "model=balanced", 10);
    double p95_us = stats_percentile(window.step_ns, 9, 95) / 1e3;

    assert_near(window.metric[METRIC_STEP_TIME_P95], p95_us, 1e-9 * p95_us);
    assert_near(window.metric[METRIC_STEP_VARIATION], stats_cv(window.step_ns, 9), 1e-9);
    training_window_release(&window);
    window = window_of(*state, "model=balanced", 1);
    assert_true(isnan(window.metric[METRIC_STEP_TIME_P95]));
    training_window_release(&window);
}

TEST(a_window_adds_up_over_slices_with_other_steps_between)
{
    struct training_window window = { 0 };
    struct training *training = open_training(*state, "model=balanced loss_every=2 workers=2");

    assert_ok(training_run(training, 4));
    for (int slice = 1; slice <= 3; slice++) {
        int64_t wall_ns = window.wall_ns;
        assert_ok(training_window(training, 4, &window));
        assert_ok(training_pause(training));
        assert_int_equal(window.steps, 4 * slice);
        assert_int_equal(window.samples, 32 * slice);
        assert_int_equal(window.step_count, 3 * slice);
        assert_true(window.wall_ns > wall_ns);
        assert_near(window.metric[METRIC_STEP_TIME],
                    (double)window.wall_ns / (double)window.steps / 1e3, 1e-6);
        /* One read of the loss in two steps, and none of those between the slices. */
        assert_near(window.metric[METRIC_SYNCS_PER_STEP], 0.5, 1e-9);
        assert_ok(training_run(training, 2));
    }
    for (int i = 0; i < window.step_count; i++) assert_true(window.step_ns[i] > 0);
    training_window_release(&window);
    training_close(training);
}

/* Together they are a step's device work, which is part of the step. */
TEST(a_window_has_the_times_of_its_phases)
{
    static const char *const settings[] = { "model=light launch=graph",
                                            "model=light launch=graph batch=4 accumulate=4",
                                            "model=light launch=eager",
                                            "model=balanced launch=eager accumulate=2",
                                            "model=balanced checkpointing=block" };

    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        struct training_window window = window_of(*state, settings[i], 10);
        const double *metric = window.metric;
        double forward = metric[METRIC_FORWARD_TIME], backward = metric[METRIC_BACKWARD_TIME];
        double optimizer = metric[METRIC_OPTIMIZER_TIME];

        assert_int_equal(window.phase_count, 1);
        assert_true(forward > 0 && backward > 0 && optimizer > 0);
        assert_true((forward + backward + optimizer) * 1e3 <= (double)window.wall_ns);
        assert_near(metric[METRIC_OPTIMIZER_SHARE], optimizer / (forward + backward + optimizer),
                    1e-9);
        training_window_release(&window);
    }
}

/* An event has nothing to record in the other steps, whose cost would be that of the timing. */
TEST(only_the_last_step_of_a_window_records_its_phases)
{
    enum { ACCUMULATE = 4, STEPS_TIMED = 6, BORDERS = 2 * ACCUMULATE + 2 };
    struct device *device = *state;
    struct training *training =
        open_training(device, "model=light batch=4 accumulate=4 launch=eager loss_every=1000");
    struct training_window window = { 0 };
    int64_t before;

    assert_ok(training_run(training, 4));
    before = device_counters(device).event_records;
    assert_ok(training_window(training, STEPS_TIMED, &window));
    assert_int_equal(device_counters(device).event_records - before, STEPS_TIMED + BORDERS);
    training_window_release(&window);
    training_close(training);
}

/* It counts what was run, and another window follows when nothing asks to stop any more. */
TEST(a_window_that_is_stopped_ends_after_the_step_under_way)
{
    struct training_window window = { 0 };
    struct training *training = open_training(*state, "model=balanced workers=2");
    volatile sig_atomic_t stop = 2;

    training_stop_on(training, &stop);
    assert_ok(training_run(training, 5));
    assert_int_equal(training_steps_done(training), 1);
    assert_ok(training_window(training, 40, &window));
    assert_int_equal(window.steps, 1);
    assert_int_equal(window.samples, 8);
    assert_int_equal(window.step_count, 0);
    stop = 0;
    assert_ok(training_window(training, 3, &window));
    assert_int_equal(window.steps, 4);
    assert_int_equal(window.step_count, 2);
    training_window_release(&window);
    training_close(training);
}

/* Every step is one of a loop that waits: its batch is loaded, queued and waited for in turn, and
 * no step is run only to measure the other part. */
TEST(each_step_of_a_balance_gives_both_parts)
{
    struct training *training = open_training(*state, "model=balanced launch=graph workers=0");
    struct device_counters from, to;
    double host_ns = 0, device_ns = 0;

    assert_ok(training_run(training, 5));
    from = device_counters(*state);
    assert_ok(training_balance(training, 7, &host_ns, &device_ns));
    to = device_counters(*state);
    assert_int_equal(training_steps_done(training), 5 + 7);
    assert_int_equal(to.graph_launches - from.graph_launches, 7);
    assert_true(to.synchronizations - from.synchronizations >= 7);
    assert_true(host_ns > 0 && device_ns > 0);
    training_close(training);
}

TEST(fetching_batches_ahead_changes_neither_their_order_nor_a_bit)
{
    struct training *training = open_training(*state, "model=balanced input=decoded workers=0");
    struct training_window window = { 0 };
    float losses[8], plain[8];

    assert_ok(training_run(training, 8));
    assert_ok(training_losses(training, 0, 8, plain));
    training_close(training);
    training = open_training(*state, "model=balanced input=decoded workers=0");
    assert_ok(training_fetch(training));
    assert_ok(training_fetch(training)); /* It is at hand. */
    for (int slice = 0; slice < 2; slice++) assert_ok(training_window(training, 4, &window));
    assert_ok(training_losses(training, 0, 8, losses));
    assert_memory_equal(losses, plain, sizeof losses);
    training_window_release(&window);
    training_close(training);
}

TEST(batches_are_ready_for_longer_than_an_epoch_or_not_at_all)
{
    static const char *const settings[] = {
        "model=balanced input=decoded workers=2 prefetch=2 persistent_workers=no",
        "model=balanced input=decoded workers=2 prefetch=2 persistent_workers=yes",
    };

    for (int persistent = 0; persistent < 2; persistent++) {
        struct training *training = open_training(*state, settings[persistent]);
        int64_t ready = -1;
        while (loader_statistics(training->loader).ready < 4) sched_yield();
        assert_ok(training_batches_ready(training, &ready));
        assert_int_equal(ready, persistent ? 4 : 0);
        training_close(training);
    }
}

TEST(too_little_memory_is_a_clear_error)
{
    struct training_config config = config_of(*state, "model=heavy memory_budget=4MiB");
    struct training *training;
    enum status status = training_open(&training, *state, &config);

    if (status == STATUS_OK) {
        status = training_run(training, 1);
        training_close(training);
    }
    assert_int_equal(status, STATUS_DEVICE_OUT_OF_MEMORY);
}

TEST(the_period_is_that_of_all_configurations)
{
    struct training_config configs[2] = { 0 };

    configs[0].logging.loss_every = 6;
    configs[1].logging.loss_every = 20;
    assert_int_equal(training_period(configs, 2), 60);
    assert_int_equal(training_period(configs, 1), 6);
    configs[0].logging.loss_every = 1;
    assert_int_equal(training_period(configs, 2), 20);
    configs[1].logging.loss_every = 0;
    assert_int_equal(training_period(configs, 2), 1);
    configs[0].logging.loss_every = 6;
    configs[0].loader = (struct loader_config){ .input = INPUT_DECODED, .workers = 2 };
    configs[0].model.batch = 64; /* workers start every 16 steps: an epoch has 1024 samples */
    assert_int_equal(training_period(configs, 2), 48);
    configs[0].loader.persistent_workers = true;
    assert_int_equal(training_period(configs, 2), 6);
}

/* Chance is a tenth for the ten classes of images and an eighth for those of sequences. A sanitizer
 * has seen each line in the tests before. */
TEST(held_out_samples_are_learnt)
{
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
    static const struct {
        const char *settings;
        int steps;
    } cases[] = {
        { "model=balanced input=decoded", 600 },
        { "model=balanced input=decoded precision=bf16", 600 },
        { "model=light batch=16", 600 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct training *training = open_training(*state, cases[i].settings);
        double chance = 1.0 / training->encoder->shape.classes, before, after;
        assert_ok(training_evaluate(training, &before));
        assert_ok(training_run(training, cases[i].steps));
        assert_ok(training_evaluate(training, &after));
        print_message("%s: held-out accuracy %.3f -> %.3f, chance %.3f\n", cases[i].settings,
                      before, after, chance);
        assert_true(after >= 2 * chance);
        assert_true(before < 2 * chance);
        training_close(training);
    }
}

TESTS_WITH(open_device, close_device)
