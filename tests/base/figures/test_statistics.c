/* Medians, their intervals, and when two sides differ. */
#include "harness/base/figures/statistics.h"
#include "harness/base/random.h"
#include "harness/base/status.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>

TEST(median_of_known_samples)
{
    static const struct {
        int count;
        double ns[4], median;
    } cases[] = {
        { 1, { 7 }, 7 },
        { 2, { 3, 4 }, 3.5 },
        { 3, { 9, 1, 5 }, 5 },
        { 4, { 4, 1, 3, 2 }, 2.5 },
        { 3, { 1, INFINITY, INFINITY }, INFINITY },
        { 4, { 1, INFINITY, INFINITY, INFINITY }, INFINITY },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_true(stats_median(cases[i].ns, cases[i].count) == cases[i].median);
}

TEST(percentiles_are_linear_between_samples)
{
    static const double values[] = { 50, 10, 40, 20, 30 };
    static const struct {
        double percent, value;
    } cases[] = { { 0, 10 }, { 25, 20 }, { 50, 30 }, { 95, 48 }, { 99, 49.6 }, { 100, 50 } };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_float_equal(stats_percentile(values, 5, cases[i].percent), cases[i].value, 1e-12);
    assert_true(isnan(stats_percentile(values, 5, 101)));
    assert_true(isnan(stats_percentile(values, 5, -1)));
    assert_true(isnan(stats_percentile(values, 5, NAN)));
}

TEST(spread_of_known_samples)
{
    static const double values[] = { 2, 4, 4, 4, 5, 5, 7, 9 };

    assert_float_equal(stats_mean(values, 8), 5, 1e-12);
    assert_float_equal(stats_deviation(values, 8), sqrt(32.0 / 7), 1e-12);
    assert_float_equal(stats_cv(values, 8), sqrt(32.0 / 7) / 5, 1e-12);
}

TEST(what_was_not_measured_stays_so)
{
    static const double values[] = { 1, NAN, 3, 4, 5, 6, 7 };
    struct confidence_interval interval = stats_median_interval(values, 7);

    assert_true(isnan(stats_median(values, 7)));
    assert_true(isnan(stats_mean(values, 7)));
    assert_true(isnan(stats_cv(values, 7)));
    assert_true(isnan(interval.low) && isnan(interval.high));
    assert_false(stats_interval_is_enough(&interval));
    assert_int_equal(stats_change(&interval, 1.05), CHANGE_UNDECIDED);
    assert_true(isnan(stats_median(values, 0)));
    assert_true(isnan(stats_mean(values, 0)));
    assert_true(isnan(stats_deviation(values, 1)));
}

/* Ranks and coverage as tables of the sign test give them. */
TEST(ranks_of_the_interval_are_those_of_the_binomial)
{
    static const struct {
        int count, rank;
        double coverage;
    } cases[] = {
        { 0, 0, 0 },
        { 1, 0, 0 },
        { 5, 0, 0 },
        { 6, 1, 0.96875 },
        { 8, 1, 0.9921875 },
        { 9, 2, 0.9609375 },
        { 10, 2, 0.978515625 },
        { 15, 4, 0.96484375 },
        { 20, 6, 0.958610534 },
        { 25, 8, 0.956714749 },
    };
    double coverage;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(stats_interval_rank(cases[i].count, &coverage), cases[i].rank);
        assert_float_equal(coverage, cases[i].coverage, 1e-8);
    }
    assert_true(stats_interval_rank(5000, &coverage) > 2400 && coverage > 0.95 && coverage < 0.953);
}

TEST(interval_is_second_to_eighth_of_nine)
{
    static const double values[] = { 9, 1, 8, 2, 7, 3, 6, 4, 5 };
    struct confidence_interval interval = stats_median_interval(values, 9);

    assert_true(interval.low == 2 && interval.high == 8);
    assert_true(stats_interval_is_enough(&interval));
    interval = stats_median_interval(values, 6);
    assert_true(interval.low == 1 && interval.high == 9);
    assert_true(stats_interval_is_enough(&interval));
}

TEST(below_six_samples_the_whole_range_is_not_enough)
{
    static const double values[] = { 4, 2, 3, 5, 1 };
    static const double coverage[] = { 0, 0.5, 0.75, 0.875, 0.9375 };

    for (int count = 1; count <= 5; count++) {
        struct confidence_interval interval = stats_median_interval(values, count);
        assert_float_equal(interval.coverage, coverage[count - 1], 1e-9);
        assert_false(stats_interval_is_enough(&interval));
    }
    assert_true(stats_median_interval(values, 5).low == 1);
    assert_true(stats_median_interval(values, 5).high == 5);
}

/* Skewed samples whose true median is 1: exp(normal), and one in eight of them three times as
 * long. */
/* 6 samples leave out 3.1%, which leaves 1.9% for the looks at 9, 12 and 15 together. */
TEST(more_looks_share_the_five_percent)
{
    static const struct {
        int first, count, rank;
    } cases[] = {
        { 6, 6, 1 },  { 6, 9, 1 },  { 6, 12, 2 }, { 6, 15, 3 }, { 9, 9, 2 },
        { 9, 12, 2 }, { 9, 15, 2 }, { 2, 5, 0 },  { 2, 8, 1 },  { 20, 9, 2 },
    };
    double coverage;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(stats_looked_rank(cases[i].count, cases[i].first, 3, &coverage),
                         cases[i].rank);
        assert_true(cases[i].rank == 0 ? coverage == 0 : coverage > 0.95);
    }
}

static double skewed_sample(struct random *random)
{
    double value = exp(0.2 * (double)random_normal(random));

    return value > 1 && random_below(random, 4) == 0 ? 3 * value : value;
}

TEST(interval_holds_the_true_median_as_often_as_it_says)
{
    static const int counts[] = { 6, 9, 20 };
    enum { ROUNDS = 20000 };
    struct random random = random_seed(1, 2);

    for (size_t c = 0; c < ARRAY_SIZE(counts); c++) {
        double values[20], said = 0;
        int held = 0;
        for (int round = 0; round < ROUNDS; round++) {
            struct confidence_interval interval;
            for (int i = 0; i < counts[c]; i++) values[i] = skewed_sample(&random);
            interval = stats_median_interval(values, counts[c]);
            held += interval.low <= 1 && 1 <= interval.high;
            said = interval.coverage;
        }
        assert_true(said > 0.95);
        /* Four standard errors of a share of 0.96 in 20,000 rounds. */
        assert_float_equal((double)held / ROUNDS, said, 0.006);
    }
}

/* Looks at 6, 9, 12 and 15 samples: that any of the four intervals misses is rarer than 5%. */
TEST(all_looks_together_hold_the_median)
{
    enum { ROUNDS = 20000, MOST = 15 };
    struct random random = random_seed(1, 3);
    int missed = 0;

    for (int round = 0; round < ROUNDS; round++) {
        double values[MOST];
        bool misses = false;
        for (int i = 0; i < MOST; i++) values[i] = skewed_sample(&random);
        for (int count = 6; count <= MOST; count += 3) {
            struct confidence_interval interval = stats_looked_interval(values, count, 6, 3);
            misses |= !(interval.low <= 1 && 1 <= interval.high);
        }
        missed += misses;
    }
    assert_true(missed < ROUNDS / 20);
    assert_true(missed > ROUNDS / 50); /* or the intervals are wider than they need be */
}

TEST(factors_pair_by_pair)
{
    static const double larger[] = { 6, 0, 5, 0, -1, NAN, 3 };
    static const double smaller[] = { 3, 2, 0, 0, 2, 1, 3 };
    double factors[7];

    stats_paired_factors(larger, smaller, 7, factors);
    assert_true(factors[0] == 2);
    assert_true(factors[1] == 0);
    assert_true(isinf(factors[2]) && factors[2] > 0);
    assert_true(factors[3] == 1);
    assert_true(isnan(factors[4]));
    assert_true(isnan(factors[5]));
    assert_true(factors[6] == 1);
}

TEST(growth_is_half_and_steady)
{
    static const struct {
        double values[12];
        bool grows;
    } cases[] = {
        { { 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21 }, true },
        { { 10, 11, 12, 13, 90, 15, 16, 17, 18, 19, 20, 21 }, true }, /* an outlier */
        { { 10, 10.2, 10.4, 10.6, 10.8, 11, 11.2, 11.4, 11.6, 11.8, 12, 12.2 }, false },
        { { 10, 11, 10, 11, 10, 11, 10, 11, 10, 20, 20, 20 }, false }, /* at once, at the end */
        { { 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10 }, false },
        { { 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10 }, false },
    };
    double early, late;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(stats_grows(cases[i].values, 12, &early, &late), cases[i].grows);
    assert_true(stats_grows(cases[0].values, 12, &early, &late));
    assert_true(early == 11 && late == 20);
}

TEST(a_difference_needs_the_whole_interval)
{
    static const struct {
        struct confidence_interval interval;
        enum change change;
    } cases[] = {
        { { 1.06, 1.30, 0.96 }, CHANGE_LARGER },
        { { 1.06, INFINITY, 0.96 }, CHANGE_LARGER },
        { { 0.70, 0.94, 0.96 }, CHANGE_SMALLER },
        { { 0.97, 1.04, 0.96 }, CHANGE_NONE },
        { { 1.01, 1.30, 0.96 }, CHANGE_UNDECIDED },
        { { 0.90, 1.01, 0.96 }, CHANGE_UNDECIDED },
        { { 0.50, 2.00, 0.96 }, CHANGE_UNDECIDED },
        { { 1.06, 1.30, 0.94 }, CHANGE_UNDECIDED }, /* too few samples */
        { { 0.99, 1.01, 0.94 }, CHANGE_UNDECIDED },
        { { NAN, NAN, 0.96 }, CHANGE_UNDECIDED },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(stats_change(&cases[i].interval, 1.05), cases[i].change);
}
