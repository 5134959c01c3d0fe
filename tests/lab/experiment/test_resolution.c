/* How long windows are, and how often verdicts from windows of that length are wrong. */
#include "harness/base/figures/statistics.h"
#include "harness/base/random.h"
#include "harness/lab/experiment/child/resolution.h"
#include "harness/lab/experiment/verdict.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>

static const struct device_properties two_cores = { .host_cores = 2, .shares_host_cores = true };

TEST(the_nearest_bound_decides)
{
    static const struct {
        struct expectation expect[3];
        double before, after, margin; /* of each metric; the margin as a factor */
    } cases[] = {
        { { { METRIC_STEP_TIME, SHRINKS, .at_least = 1.25 } }, 200, 100, 1.6 },
        { { { METRIC_STEP_TIME, SHRINKS, .at_least = 0 } }, 105, 100, 1 },
        { { { METRIC_STEP_TIME, SHRINKS, .at_least = 2 } }, 100, 100, 2 }, /* misses it by far */
        { { { METRIC_STEP_TIME, GROWS, .at_most = 1.4, .is_cost = true } }, 100, 112, 1.25 },
        { { { METRIC_SAMPLES_PER_SECOND, GROWS, .at_least = 1.5 } }, 100, 300, 2 },
        { { { METRIC_DATA_WAIT, SHRINKS, .before_above = 40, .after_below = 10 } }, 50, 2, 1.25 },
        { { { METRIC_DATA_WAIT, SHRINKS, .before_above = 10, .after_below = 10 } }, 50, 8, 1.25 },
        { { { METRIC_STEP_TIME, SHRINKS, .at_least = 1.25 },
            { METRIC_DATA_WAIT, SHRINKS, .at_least = 1.6 } },
          200,
          100,
          1.25 },
        /* A count, and what is promised elsewhere, need no time. */
        { { { METRIC_COPIES_PER_STEP, SHRINKS, .at_least = 1.99, .exact = true },
            { METRIC_STEP_TIME, SHRINKS, .at_least = 1.99, .where = WHERE_CUDA },
            { METRIC_STEP_TIME, SHRINKS, .at_least = 1.25 } },
          200,
          100,
          1.6 },
        { { { METRIC_COPIES_PER_STEP, SHRINKS, .exact = true } }, 200, 100, INFINITY },
        { { { METRIC_COPIES_PER_STEP, SHRINKS, .at_least = 10 } }, 200, 0, INFINITY },
        { { { METRIC_SAVE_PAUSE, SHRINKS, .at_least = 10 } }, NAN, 100, 1 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        double metric[VARIANT_COUNT][METRIC_COUNT], margin;
        struct scenario scenario = { .name = "test" };
        memcpy(scenario.expect, cases[i].expect, sizeof cases[i].expect);
        for (int m = 0; m < METRIC_COUNT; m++) {
            metric[VARIANT_BEFORE][m] = cases[i].before;
            metric[VARIANT_AFTER][m] = cases[i].after;
        }
        margin = resolution_margin(&scenario, false, &two_cores, metric);
        if (isinf(cases[i].margin))
            assert_true(isinf(margin) && margin > 0);
        else
            assert_float_equal(margin, log(cases[i].margin), 1e-12);
        /* Whatever the first pair saw, A/A is about the least effect. */
        assert_float_equal(resolution_margin(&scenario, true, &two_cores, metric), log(1.05),
                           1e-12);
    }
}

TEST(what_is_twice_as_far_takes_a_quarter_of_the_time)
{
    assert_float_equal(resolution_seconds(0.05, 0.2, 0), 0.2, 1e-12);
    assert_float_equal(resolution_seconds(0.05, 0.2, log(1.05)), 0.2, 1e-12);
    assert_float_equal(resolution_seconds(0.05, 0.2, 0.1), 0.2, 1e-12);
    assert_float_equal(resolution_seconds(0.05, 0.2, 0.16), 0.05 * 25 / 16, 1e-12);
    assert_float_equal(resolution_seconds(0.05, 0.2, 0.2), 0.05, 1e-12);
    assert_float_equal(resolution_seconds(0.05, 0.2, INFINITY), 0.05, 1e-12);
    assert_float_equal(resolution_seconds(0, 0.2, INFINITY), 0.2, 1e-12); /* none is shortened */
    assert_float_equal(resolution_seconds(0.05, 0.04, INFINITY), 0.04, 1e-12);
}

/* --- How often it is wrong --- */

enum { TRIALS = 4000 };

/* A machine: the standard deviation of the ratio of two windows of full length, and of how far a
 * pair is off whatever the length; the share of full windows in which something comes between for
 * 15% of their time. */
static const struct machine {
    const char *name;
    double window, pair, disturbed;
} machines[] = {
    { "quiet", 0.01, 0.005, 0.01 },
    { "busy", 0.04, 0.02, 0.1 },
    { "very busy", 0.1, 0.05, 0.2 },
};

struct rates {
    double verdict[VERDICT_COUNT], pairs, seconds; /* of pairs, and of the first windows: means */
};

static double window_of(const struct machine *machine, double truth, double shortening,
                        struct random *random)
{
    double noise = sqrt(shortening / 2) * machine->window * (double)random_normal(random);

    bool is_disturbed = (double)random_uniform(random) < machine->disturbed / shortening;

    return truth * exp(noise) * (is_disturbed ? 1 + 0.15 * shortening : 1);
}

static void draw_pair(struct scenario_result *result, const struct machine *machine, double truth,
                      double shortening, struct random *random)
{
    double off = machine->pair * (double)random_normal(random);
    int pair = result->pairs++;

    result->repetitions[VARIANT_BEFORE][pair].metric[METRIC_STEP_TIME] =
        window_of(machine, truth * exp(off), shortening, random);
    result->repetitions[VARIANT_AFTER][pair].metric[METRIC_STEP_TIME] =
        window_of(machine, 1, shortening, random);
}

/* The first pair measures in quarters of a window that is not shortened. */
static double seconds_for(const struct scenario *scenario, const struct protocol *protocol,
                          const struct machine *machine, double truth, struct random *random)
{
    double metric[VARIANT_COUNT][METRIC_COUNT] = { { 0 } };

    metric[VARIANT_BEFORE][METRIC_STEP_TIME] = window_of(machine, truth, 4, random);
    metric[VARIANT_AFTER][METRIC_STEP_TIME] = window_of(machine, 1, 4, random);
    return resolution_seconds(protocol->shortest_seconds, protocol->window_seconds,
                              resolution_margin(scenario, protocol->aa, &two_cores, metric));
}

static struct rates rates_of(const struct machine *machine, const struct protocol *protocol,
                             double truth)
{
    struct scenario scenario = { .expect = { { METRIC_STEP_TIME, SHRINKS, .at_least = 1.25 } } };
    struct repetition repetitions[VARIANT_COUNT][15] = { { { .steps = 0 } } };
    struct random random = random_seed(7, (uint64_t)(truth * 1000));
    struct rates rates = { .pairs = 0 };

    for (int trial = 0; trial < TRIALS; trial++) {
        struct scenario_result result = { .scenario = &scenario,
                                          .protocol = *protocol,
                                          .device = two_cores,
                                          .repetitions = { repetitions[0], repetitions[1] } };
        double seconds = seconds_for(&scenario, protocol, machine, truth, &random);
        result.verdict = VERDICT_UNDECIDED;
        while (result.verdict == VERDICT_UNDECIDED &&
               result.pairs < protocol->repetitions + protocol->extra) {
            bool is_first = result.pairs == 0;
            double shortening = is_first ? protocol->window_seconds / seconds : 1;
            for (int i = 0; i < (is_first ? protocol->repetitions : EXTRA_PAIRS); i++)
                draw_pair(&result, machine, truth, shortening, &random);
            assert_ok(verdict_give(&result));
        }
        rates.verdict[result.verdict] += 1.0 / TRIALS;
        rates.pairs += (double)result.pairs / TRIALS;
        rates.seconds += seconds / TRIALS;
    }
    print_message(
        "%s, 1.25 is promised and %.3f is true%s: %.2f%% reproduced, %.2f%% not, %.2f%% "
        "different, %.2f%% undecided; %.1f pairs of %.3f s\n",
        machine->name, truth, protocol->aa ? ", A/A" : "", 100 * rates.verdict[VERDICT_REPRODUCED],
        100 * rates.verdict[VERDICT_NOT_REPRODUCED], 100 * rates.verdict[VERDICT_DIFFERENT],
        100 * rates.verdict[VERDICT_UNDECIDED], rates.pairs, rates.seconds);
    return rates;
}

/* At the bound itself each of the two claims is wrong, and may come in 2.5% of runs: 3.3 standard
 * deviations of the simulation are 0.8%. */
TEST(what_is_just_at_its_bound_is_rarely_claimed)
{
    const struct protocol protocols[] = { protocol_default(false), protocol_default(true) };

    for (size_t i = 0; i < ARRAY_SIZE(machines) * ARRAY_SIZE(protocols); i++) {
        struct rates rates = rates_of(&machines[i / 2], &protocols[i % 2], 1.25);
        assert_true(rates.verdict[VERDICT_REPRODUCED] < 0.033);
        assert_true(rates.verdict[VERDICT_NOT_REPRODUCED] < 0.033);
    }
}

TEST(equal_settings_are_not_called_different)
{
    struct protocol protocols[] = { protocol_default(false), protocol_default(true) };

    for (size_t i = 0; i < ARRAY_SIZE(machines) * ARRAY_SIZE(protocols); i++) {
        struct protocol *protocol = &protocols[i % 2];
        struct rates rates;
        protocol->aa = true;
        rates = rates_of(&machines[i / 2], protocol, 1);
        assert_true(rates.verdict[VERDICT_DIFFERENT] < 0.01);
        assert_float_equal(rates.seconds, protocol->window_seconds, 1e-9);
    }
}

/* Short windows do not cost the verdict: what is 1.2 times beyond its bound is still seen. */
TEST(what_is_beyond_its_bound_is_seen_in_short_windows)
{
    const struct protocol protocol = protocol_default(false);

    for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
        struct rates rates = rates_of(&machines[i], &protocol, 1.25 * 1.3);
        assert_true(rates.verdict[VERDICT_REPRODUCED] > (i < 2 ? 0.99 : 0.9));
        assert_true(rates.seconds < protocol.window_seconds / 2);
        rates = rates_of(&machines[i], &protocol, 1.25 / 1.3);
        assert_true(rates.verdict[VERDICT_NOT_REPRODUCED] > (i < 2 ? 0.99 : 0.9));
    }
}
