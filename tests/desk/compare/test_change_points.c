/* How often a series that does not change is said to, and how soon one that does; and the
 * probabilities behind that, against counting. tests/tools/change_rates.c prints more of the
 * same. */
#include "harness/base/figures/statistics.h"
#include "harness/base/status.h"
#include "harness/desk/compare/history/change_points.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/made/made_alarm.h"
#include "tests/fixtures/made/made_series.h"
#include "tests/fixtures/test_seed.h"

#include <math.h>
#include <stdbool.h>

enum { LONGEST = 205, SERIES = 10000 };

/* Series with a step, per case. A sanitizer needs only that the code runs. */
#ifdef __SANITIZE_ADDRESS__
enum { TRIALS = 200 };
#else
enum { TRIALS = 2000 };
#endif

#define ERROR 0.01

/* Alarms at the end of `series` series without a change, of 10 to 200 runs. */
static int count_alarms(enum made_noise noise, int series)
{
    struct random random = random_seed(1, (uint64_t)noise);
    double values[LONGEST];
    int alarms = 0;

    for (int i = 0; i < series; i++) {
        int count = 10 + (int)random_below(&random, 191);
        made_series(values, count, noise, 0.03, count, 0, &random);
        alarms += made_alarm(values, count, ERROR);
    }
    return alarms;
}

TEST(at_most_one_of_a_hundred_series_that_do_not_change_raises_an_alarm)
{
    int all = 0;

    for (int noise = 0; noise < MADE_SHAPES; noise++) {
        int alarms = count_alarms((enum made_noise)noise, SERIES / MADE_SHAPES + 1);
        /* Three deviations of the count above its mean. */
        double most = SERIES / MADE_SHAPES * ERROR;
        if (alarms > most + 3 * sqrt(most))
            fail_msg("%s: %d alarms", made_noise_names[noise], alarms);
        all += alarms;
    }
    print_message("%d alarms in %d series\n", all, SERIES);
    assert_in_range(all, SERIES / 500, SERIES / 100); /* A test that never alarms is none. */
}

static double share_found(int before, enum made_noise noise, int series)
{
    struct random random = random_seed(2, (uint64_t)noise);
    double values[LONGEST];
    int found = 0;

    for (int i = 0; i < series; i++) {
        bool seen = false;
        made_series(values, before + 5, noise, 0.03, before, 0.05, &random);
        for (int after = 1; after <= 5 && !seen; after++)
            seen = made_alarm(values, before + after, ERROR);
        found += seen;
    }
    return (double)found / series;
}

/* The limits are three deviations of a count below what change_rates measures on 4,000 series
 * each. */
TEST(a_step_of_5_percent_at_3_percent_noise_is_found_within_five_runs)
{
    static const struct {
        int before;
        enum made_noise noise;
        double share;
    } cases[] = { { 20, MADE_NORMAL, 0.302 },   { 50, MADE_NORMAL, 0.633 },
                  { 200, MADE_NORMAL, 0.873 },  { 50, MADE_HEAVY, 0.759 },
                  { 50, MADE_OUTLIERS, 0.866 }, { 50, MADE_SKEWED, 0.604 } };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        double share = share_found(cases[i].before, cases[i].noise, TRIALS);
        double most = cases[i].share, deviation = sqrt(most * (1 - most) / TRIALS);
        if (!(share >= most - 3 * deviation))
            fail_msg("%d runs before, %s: %.1f%%", cases[i].before,
                     made_noise_names[cases[i].noise], 100 * share);
    }
}

/* Counts the choices of `left` more scores from scores[from...] whose sum reaches `wanted`. */
static int count_choices(const double *scores, int count, int from, int left, double wanted,
                         int *all)
{
    int reached = 0;

    if (left == 0) {
        ++*all;
        return wanted <= 1e-9;
    }
    for (int i = from; i < count; i++)
        reached += count_choices(scores, count, i + 1, left - 1, wanted - scores[i], all);
    return reached;
}

TEST(the_chance_of_the_last_runs_is_that_of_counting_all_choices)
{
    struct random random = random_seed(3, 0);

    for (int round = 0; round < 200; round++) {
        double scores[12], wanted = 0;
        int count = 6 + (int)random_below(&random, 7), all = 0, reached;
        for (int i = 0; i < count; i++) scores[i] = ((int)random_below(&random, 64) - 32) / 16.0;
        for (int i = count - 5; i < count; i++) wanted += scores[i];
        reached = count_choices(scores, count, 0, 5, wanted, &all);
        assert_true(fabs(change_chance(scores, count, 5) - (double)reached / all) < 1e-12);
    }
}

/* The bound holds, and is not far from the truth. */
TEST(the_chance_of_the_scan_bounds_what_drawing_shows)
{
    enum { RUNS = 100, DRAWS = 20000 };
    struct random random = random_seed(4, 0);
    static const double limits[] = { 2.5, 3, 3.5 };
    int reached[ARRAY_SIZE(limits)] = { 0 };

    for (int draw = 0; draw < DRAWS; draw++) {
        double values[RUNS], mean = 0, sum = 0, largest = 0;
        for (int i = 0; i < RUNS; i++) {
            values[i] = (double)random_normal(&random);
            mean += values[i] / RUNS;
        }
        for (int at = RUNS - 1; at >= 5; at--) {
            sum += values[at] - mean;
            if (RUNS - at >= 5)
                largest = fmax(largest, sum / sqrt((double)at * (RUNS - at) / RUNS));
        }
        for (size_t i = 0; i < ARRAY_SIZE(limits); i++) reached[i] += largest >= limits[i];
    }
    for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
        double share = (double)reached[i] / DRAWS, chance = change_scan_chance(limits[i], RUNS, 5);
        if (!(share <= chance + 3 * sqrt(chance / DRAWS) && chance <= 2 * share))
            fail_msg("above %g: %g by the bound, %g drawn", limits[i], chance, share);
    }
}

TEST(the_states_of_a_series_are_told_apart)
{
    struct random random = random_seed(5, 0);
    double values[184];
    int at[184 / CHANGE_WINDOW + 2];

    made_series(values, 184, MADE_NORMAL, 0.01, 60, 0.1, &random);
    for (int i = 120; i < 184; i++) values[i] += i < 180 ? -0.05 : 0.1;
    assert_int_equal(change_points_find(values, 184, ERROR, at), 3);
    assert_int_equal(at[0], 60);
    assert_int_equal(at[1], 120);
    assert_int_equal(at[2], 180);
}

TEST(a_series_of_equal_values_or_of_few_has_no_change)
{
    double values[60];
    int at[14];

    for (int i = 0; i < 60; i++) values[i] = 7;
    assert_int_equal(change_points_find(values, 60, ERROR, at), 0);
    assert_int_equal(change_points_find(values, 1, ERROR, at), 0);
    assert_int_equal(change_points_find(values, 0, ERROR, at), 0);
    for (int i = 0; i < 9; i++) values[i] = i < 4 ? 1 : 2;
    assert_int_equal(change_points_find(values, 9, ERROR, at), 0);
    for (int i = 0; i < 60; i++) values[i] = i < 55 ? 1 : 2;
    assert_int_equal(change_points_find(values, 60, ERROR, at), 1);
    assert_int_equal(at[0], 55);
}

TEST(one_run_far_beyond_all_before_is_called_and_one_among_outliers_is_not)
{
    struct random random = random_seed(6, 0);
    struct history_series series;
    double values[60];

    made_series(values, 60, MADE_NORMAL, 0.03, 60, 0, &random);
    values[59] *= 2;
    series = made_judged(values, 60, ERROR);
    assert_int_equal(series.verdict, HISTORY_SLOWER);
    assert_true(series.chance > 0 && series.chance < 1e-4);
    values[59] = 1.2; /* 7 deviations: not in one run */
    assert_false(made_alarm(values, 60, ERROR));
    values[59] = 2;
    values[20] = 1.6; /* there was one before */
    assert_false(made_alarm(values, 60, ERROR));
}

/* --- What runs of a machine do, drawn anew each time --- */

enum { DRAWN = TRIALS, RUNS = 40 };

/* So many of `all` are not exceeded by a share of `share`, in all but one of a hundred thousand
 * tests. */
static int most_of(int all, double share)
{
    return (int)ceil(all * share + 4.3 * sqrt(all * share * (1 - share)));
}

TEST(flat_series_that_wander_or_have_two_runners_raise_no_more_alarms)
{
    static const double correlations[] = { 0, 0.3, 0.5, 0.8 }, shares[] = { 0.1, 0.3, 0.5 };
    struct random random = random_seed(test_seed(), 1);
    double values[RUNS];

    for (size_t i = 0; i < ARRAY_SIZE(correlations) + ARRAY_SIZE(shares); i++) {
        int alarms = 0, wanders = i < ARRAY_SIZE(correlations);
        double r = wanders ? correlations[i] : 0, own = (double)random_normal(&random);
        double share = wanders ? 0 : shares[i - ARRAY_SIZE(correlations)];
        for (int j = 0; j < DRAWN; j++) {
            for (int k = 0; k < RUNS; k++) {
                own = r * own + sqrt(1 - r * r) * (double)random_normal(&random);
                values[k] = (1 + 0.03 * own) * ((double)random_uniform(&random) < share ? 1.2 : 1);
            }
            alarms += made_alarm(values, RUNS, ERROR);
        }
        print_message("correlation %.1f, %.0f%% on another runner: %d alarms of %d\n", r,
                      100 * share, alarms, DRAWN);
        assert_true(alarms <= most_of(DRAWN, ERROR));
    }
}

TEST(drifts_of_more_than_three_times_the_noise_are_found)
{
    static const double slopes[] = { 0.005, 0.01, 0.02, 0.05 }, noises[] = { 0.01, 0.03, 0.06 };
    enum { EACH = DRAWN / 10 };
    struct random random = random_seed(test_seed(), 2);
    double values[RUNS];

    for (size_t i = 0; i < ARRAY_SIZE(slopes) * ARRAY_SIZE(noises); i++) {
        double slope = slopes[i / ARRAY_SIZE(noises)], noise = noises[i % ARRAY_SIZE(noises)];
        int missed = 0;
        assert_true(pow(1 + slope, RUNS - 1) - 1 > 3 * noise);
        for (int j = 0; j < EACH; j++) {
            for (int k = 0; k < RUNS; k++)
                values[k] = pow(1 + slope, k) * (1 + noise * (double)random_normal(&random));
            missed += !made_alarm(values, RUNS, ERROR);
        }
        if (missed > most_of(EACH, 0.05))
            fail_msg("%g%% a run at a noise of %g%%: %d of %d missed", 100 * slope, 100 * noise,
                     missed, EACH);
    }
}

/* Among few runs the ranks of a step of 20 deviations are those of a step of 4. */
TEST(a_large_step_stays_plain_when_it_is_old)
{
    enum { FEW = 30, EACH = 200 };
    struct random random = random_seed(test_seed(), 4);
    double values[FEW];
    int at[FEW];

    for (int step = 10; step <= 25; step += 5) {
        int missed = 0;
        for (int j = 0; j < EACH; j++) {
            for (int k = 0; k < FEW; k++)
                values[k] = (k < step ? 1 : 1.2) * (1 + 0.01 * (double)random_normal(&random));
            missed += change_points_find(values, FEW, ERROR, at) < 1;
        }
        if (missed > most_of(EACH, 0.12))
            fail_msg("a step at run %d: %d of %d missed", step, missed, EACH);
    }
}

/* Each hides in the correlation that the others make, unless that is taken from what all leave. */
TEST(steps_of_one_way_do_not_hide_each_other)
{
    static const struct {
        int count, at[4];
    } cases[] = { { 40, { 13, 27 } },
                  { 40, { 20, 30 } },
                  { 30, { 10, 20 } },
                  { 40, { 10, 20, 30 } },
                  { 40, { 8, 16, 24, 32 } } };
    enum { EACH = DRAWN / 10 };
    struct random random = random_seed(test_seed(), 5);
    double values[RUNS];

    for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
        const int *at = cases[i / 2].at, count = cases[i / 2].count;
        double step = i % 2 == 0 ? 0.05 : 0.1;
        int missed = 0;
        for (int j = 0; j < EACH; j++) {
            for (int k = 0; k < count; k++) {
                int steps = 0;
                while (steps < 4 && at[steps] > 0 && k >= at[steps]) steps++;
                values[k] = pow(1 + step, steps) * (1 + 0.01 * (double)random_normal(&random));
            }
            missed += !made_alarm(values, count, ERROR);
        }
        print_message("%g%% at run %d, %d, ... of %d: %d of %d missed\n", 100 * step, at[0], at[1],
                      count, missed, EACH);
        assert_true(missed <= most_of(EACH, 0.05));
    }
}

/* Scores are right in the far tails, too. */
TEST(a_step_is_found_in_a_long_series)
{
    enum { LONG = 1000 };
    struct random random = random_seed(6, 0);
    double values[LONG];
    int at[LONG / CHANGE_WINDOW + 2];

    made_series(values, LONG, MADE_NORMAL, 0.03, LONG / 2, 0.05, &random);
    assert_int_equal(change_points_find(values, LONG, ERROR, at), 1);
    assert_in_range(at[0], LONG / 2 - 10, LONG / 2 + 10);
}

TEST(a_drift_that_begins_late_is_found)
{
    enum { EACH = DRAWN / 10, FLAT = 20 };
    struct random random = random_seed(test_seed(), 7);
    double values[RUNS];

    for (int percent = 2; percent <= 5; percent += 3) {
        int missed = 0;
        for (int j = 0; j < EACH; j++) {
            for (int k = 0; k < RUNS; k++)
                values[k] = pow(1 + percent / 100.0, fmax(0, k - FLAT + 1)) *
                            (1 + 0.01 * (double)random_normal(&random));
            missed += !made_alarm(values, RUNS, ERROR);
        }
        print_message("%d%% a run from run %d on: %d of %d missed\n", percent, FLAT, missed, EACH);
        assert_true(missed <= most_of(EACH, 0.05));
    }
}

/* Three steps of 5% within 13 runs, and the first runs after a step of 100%, at noises of 1% and
 * 3%. */
TEST(small_steps_add_up_and_a_large_one_is_called_after_one_run)
{
    enum { EACH = DRAWN / 10, BEFORE = 27 };
    struct random random = random_seed(test_seed(), 3);
    double values[RUNS];
    int missed[2] = { 0 };

    for (int j = 0; j < EACH; j++) {
        int after = 1 + j % 8;
        for (int k = 0; k < RUNS; k++)
            values[k] = pow(1.05, k < BEFORE ? 0 : fmin((k - BEFORE) / 4 + 1, 3)) *
                        (1 + 0.01 * (double)random_normal(&random));
        missed[0] += !made_alarm(values, RUNS, ERROR);
        for (int k = 0; k < BEFORE + after; k++)
            values[k] = (k < BEFORE ? 1 : 2) * (1 + 0.03 * (double)random_normal(&random));
        missed[1] += !made_alarm(values, BEFORE + after, ERROR);
    }
    print_message("missed: three steps %d, a large one %d, of %d\n", missed[0], missed[1], EACH);
    assert_true(missed[0] <= most_of(EACH, 0.2));
    assert_true(missed[1] <= most_of(EACH, 0.01));
}
