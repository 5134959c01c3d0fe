/* How runs differ, learned from many rows: against figures known otherwise, and what it does to
 * verdicts. */
#include "harness/base/random.h"
#include "harness/desk/compare/comparison.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>

static void assert_near(double value, double expected, double limit)
{
    if (!(fabs(value - expected) <= limit))
        fail_msg("%.17g is not %.17g", value, expected);
}

/* NIST DLMF 5.4.12-14 and 5.15: the sums of reciprocals that these are. */
TEST(digamma_and_trigamma_are_the_tables)
{
    static const double euler = 0.57721566490153286, pi = 3.14159265358979324;
    double sum = -euler, squares = pi * pi / 6;

    for (int n = 1; n <= 40; n++) {
        assert_near(student_digamma(n), sum, 1e-11);
        assert_near(student_trigamma(n), squares, 1e-11);
        sum += 1.0 / n;
        squares -= 1.0 / n / n;
    }
    assert_near(student_digamma(0.5), -euler - 2 * log(2), 1e-11);
    assert_near(student_trigamma(0.5), pi * pi / 2, 1e-11);
}

static double chi_square(struct random *random, int freedom)
{
    double sum = 0;

    for (int i = 0; i < freedom; i++) sum += pow((double)random_normal(random), 2);
    return sum;
}

TEST(a_prior_is_found_again)
{
    enum { ROWS = 40000, FREEDOM = 4 };
    static const int priors[] = { 3, 6, 20 };
    static double variances[ROWS];
    struct random random = random_seed(1, 0);

    for (size_t p = 0; p < ARRAY_SIZE(priors); p++) {
        struct student_prior prior;
        for (int i = 0; i < ROWS; i++) {
            double truth = 2.5 * priors[p] / chi_square(&random, priors[p]);
            variances[i] = truth * chi_square(&random, FREEDOM) / FREEDOM;
        }
        prior = student_prior(variances, ROWS, FREEDOM);
        assert_near(prior.freedom, priors[p], 0.1 * priors[p]);
        assert_near(prior.variance, 2.5, 0.1);
    }
    for (int i = 0; i < ROWS; i++) variances[i] = 2.5 * chi_square(&random, FREEDOM) / FREEDOM;
    assert_true(student_prior(variances, ROWS, FREEDOM).freedom > 200);
    assert_near(student_prior(variances, ROWS, FREEDOM).variance, 2.5, 0.05);
}

TEST(what_a_row_knows_and_what_all_know_add_up)
{
    static const double none[] = { 0, 0, NAN }, alike[] = { 3, 3, 0 };
    struct student_prior prior = { 2, 6 };
    double freedom;

    assert_near(student_variance(&prior, 7, 4, 30, &freedom), (6 * 2 + 4 * 7) / 10.0, 1e-12);
    assert_near(freedom, 10, 1e-12);
    prior.freedom = INFINITY;
    assert_near(student_variance(&prior, 7, 4, 30, &freedom), 2, 1e-12);
    assert_near(freedom, 120, 1e-12); /* no more than 30 rows have */
    prior = student_prior(none, 3, 4);
    assert_true(prior.freedom == 0);
    assert_near(student_variance(&prior, 7, 4, 30, &freedom), 7, 0);
    assert_near(freedom, 4, 0);
    assert_true(isinf(student_prior(alike, 3, 4).freedom));
}

/* --- Runs --- */

enum { ROWS = 30, BASE = 3, AFTER = 3, FILES = BASE + AFTER };

static const int base_first[FILES] = { 0, 3, 1, 4, 2, 5 }, swapped[FILES] = { 0, 3, 4, 1, 2, 5 };

/* Rows of other sizes, whose runs vary by `common` together and by `own` each. */
static void draw(double logs[ROWS][FILES], double common, double own, uint64_t seed)
{
    struct random random = random_seed(seed, 0);
    double shifts[FILES];

    for (int i = 0; i < FILES; i++) shifts[i] = common * (double)random_normal(&random);
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < FILES; i++)
            logs[row][i] = row + shifts[i] + own * (double)random_normal(&random);
}

TEST(what_moves_all_rows_is_told_from_what_moves_one)
{
    enum { TRIALS = 400 };
    double logs[ROWS][FILES], freedom, together = 0, apart = 0, common = 0;

    for (uint64_t seed = 0; seed < TRIALS; seed++) {
        struct run_noise noise;
        draw(logs, 0.02, 0.01, seed);
        assert_ok(run_noise_learn(&noise, logs[0], ROWS, BASE, AFTER, NULL));
        assert_int_equal(noise.rows, ROWS);
        common += noise.common / TRIALS;
        apart += noise.prior.variance / TRIALS;
        together += run_noise_variance(&noise, logs[0], BASE, AFTER, 0, &freedom) / TRIALS;
        assert_true(freedom >= 3.9);
        run_noise_release(&noise);
    }
    assert_near(common, 0.0004, 0.00004);
    assert_near(apart, 0.0001, 0.00001);
    assert_near(together, 0.0005, 0.00005);
}

TEST(degrees_of_freedom_are_those_of_the_larger_part)
{
    double logs[ROWS][FILES], freedom, least = 0.03 * 0.03, variance;
    struct run_noise noise;

    draw(logs, 0, 0.01, 1);
    assert_ok(run_noise_learn(&noise, logs[0], ROWS, BASE, AFTER, NULL));
    run_noise_variance(&noise, logs[0], BASE, AFTER, 0, &freedom);
    assert_true(freedom > 30);
    variance = run_noise_variance(&noise, logs[0], BASE, AFTER, least, &freedom);
    assert_near(variance, noise.common + least, 1e-12);
    run_noise_release(&noise);

    draw(logs, 0.02, 0.0001, 1);
    assert_ok(run_noise_learn(&noise, logs[0], ROWS, BASE, AFTER, NULL));
    run_noise_variance(&noise, logs[0], BASE, AFTER, 0, &freedom);
    assert_near(freedom, 4, 0.05); /* the runs', however many rows */
    run_noise_release(&noise);
}

TEST(a_change_of_all_rows_is_no_noise)
{
    double logs[ROWS][FILES], freedom[2], variance[2];

    draw(logs, 0.01, 0.01, 3);
    for (int i = 0; i < 2; i++) {
        struct run_noise noise;
        for (int row = 0; row < ROWS; row++)
            for (int j = BASE; j < FILES; j++) logs[row][j] += i * 0.5;
        assert_ok(run_noise_learn(&noise, logs[0], ROWS, BASE, AFTER, NULL));
        variance[i] = run_noise_variance(&noise, logs[5], BASE, AFTER, 0, &freedom[i]);
        run_noise_release(&noise);
    }
    assert_near(variance[1], variance[0], 1e-12);
    assert_near(freedom[1], freedom[0], 1e-6);
}

/* A drift by 2% from run to run in one direction: runs of a side are 4% apart, but neighbours 2%.
 * By hand: differences of 2, -2, 2, -2, 2%, whose mean is 0.4%, sum of squares 19.2, over 4 and
 * halved. */
TEST(a_drift_over_runs_in_turns_counts_by_its_steps)
{
    static const struct {
        const int *turns;
        double common;
    } cases[] = {
        { NULL, 0.04 * 0.04 },
        { base_first, 2.4e-4 },
    };
    double logs[ROWS][FILES];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct run_noise noise;
        draw(logs, 0, 0.0001, 7);
        for (int row = 0; row < ROWS; row++)
            for (int j = 0; j < BASE; j++) {
                logs[row][j] += 0.04 * j;
                logs[row][BASE + j] += 0.04 * j + 0.02;
            }
        assert_ok(run_noise_learn(&noise, logs[0], ROWS, BASE, AFTER, cases[i].turns));
        assert_near(noise.common, cases[i].common, 1e-5);
        run_noise_release(&noise);
    }
}

/* Two runs per side: base 0 and 5%, new 1 and 9%. Differences between neighbours, new less base
 * across the sides: 1, -4, 4% base first; 1, 9, 4% new first; and 1, 8, 4% in the order base, new,
 * new, base, of which 8 is within a side. */
TEST(each_order_of_turns_is_respected)
{
    static const double shifts[] = { 0, 0.05, 0.01, 0.09 };
    static const struct {
        int turns[4];
        double across[3], within;
        int count;
    } cases[] = {
        { { 0, 2, 1, 3 }, { 0.01, -0.04, 0.04 }, 0, 3 },
        { { 2, 0, 3, 1 }, { 0.01, 0.09, 0.04 }, 0, 3 },
        { { 0, 2, 3, 1 }, { 0.01, 0.04 }, 0.08, 2 },
    };
    double logs[ROWS][4];

    for (int row = 0; row < ROWS; row++)
        for (int j = 0; j < 4; j++) logs[row][j] = row + shifts[j];
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        double mean = 0, squares = pow(cases[i].within, 2);
        struct run_noise noise;
        for (int j = 0; j < cases[i].count; j++) mean += cases[i].across[j] / cases[i].count;
        for (int j = 0; j < cases[i].count; j++) squares += pow(cases[i].across[j] - mean, 2);
        assert_ok(run_noise_learn(&noise, logs[0], ROWS, 2, 2, cases[i].turns));
        assert_near(noise.common, squares / 2 / 2, 1e-9);
        run_noise_release(&noise);
    }
}

/* Neighbours share a run, so their differences are alike, and vary less among themselves: for three
 * runs a side in strict turns by a fifth. */
TEST(shifts_of_runs_in_turns_are_found_again)
{
    enum { TRIALS = 400 };
    double logs[ROWS][FILES], strict = 0, other = 0;

    for (uint64_t seed = 0; seed < TRIALS; seed++) {
        struct run_noise noise;
        draw(logs, 0.02, 0.01, seed);
        assert_ok(run_noise_learn(&noise, logs[0], ROWS, BASE, AFTER, base_first));
        strict += noise.common / TRIALS;
        run_noise_release(&noise);
        assert_ok(run_noise_learn(&noise, logs[0], ROWS, BASE, AFTER, swapped));
        other += noise.common / TRIALS;
        run_noise_release(&noise);
    }
    assert_near(strict, 0.8 * 0.0004, 0.00004);
    assert_in_range((int)(other * 1e6), 320, 520);
}

TEST(rows_that_never_vary_have_no_noise)
{
    double logs[ROWS][FILES], freedom;
    struct run_noise noise;

    draw(logs, 0, 0, 1);
    assert_ok(run_noise_learn(&noise, logs[0], ROWS, BASE, AFTER, NULL));
    assert_near(run_noise_variance(&noise, logs[0], BASE, AFTER, 0, &freedom), 0, 0);
    assert_near(freedom, 4, 0);
    run_noise_release(&noise);
}

TEST(few_rows_or_single_runs_teach_nothing)
{
    double logs[ROWS][FILES];
    struct run_noise noise;

    draw(logs, 0.01, 0.01, 4);
    assert_ok(run_noise_learn(&noise, logs[0], RUN_NOISE_ROWS_LEAST - 1, BASE, AFTER, NULL));
    assert_int_equal(noise.rows, 0);
    run_noise_release(&noise);
    assert_ok(run_noise_learn(&noise, logs[0], ROWS, 1, 1, NULL));
    assert_int_equal(noise.rows, 0);
    run_noise_release(&noise);
    assert_ok(run_noise_learn(&noise, logs[0], ROWS, 1, 2, NULL));
    assert_int_equal(noise.rows, ROWS);
    assert_near(noise.freedom, 1, 0);
    run_noise_release(&noise);
}

/* --- Verdicts --- */

static struct compared_row compared(const double *times, const struct run_noise *noise)
{
    static const struct compare_rule rule = { .metric = "real_time",
                                              .threshold = 0.05,
                                              .noise = NAN };
    struct benchmark_row runs[FILES];
    const struct benchmark_row *rows[FILES];
    struct compared_row row = { .name = "row" };

    for (int i = 0; i < FILES; i++) {
        runs[i] = (struct benchmark_row){ .median = times[i], .deviation = NAN };
        rows[i] = &runs[i];
    }
    assert_ok(compare_runs(&row, rows, BASE, rows + BASE, AFTER, noise, &rule));
    return row;
}

/* Runs that vary by 3%, row by row: 10% of all rows is a move, 10% of one row and a shared shift of
 * one run are none. */
TEST(the_sides_as_a_whole_move_if_most_rows_do)
{
    static const struct {
        double common, all, one;
        int moved;
    } cases[] = { { 0, 0, 0, 0 },    { 0, 0.1, 0, 1 }, { 0, -0.1, 0, -1 }, { 0, 0, 0.5, 0 },
                  { 0, 0.04, 0, 0 }, { 0.1, 0, 0, 0 }, { 0.1, 0.1, 0, 0 } };
    double logs[ROWS][FILES];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct run_noise noise;
        draw(logs, cases[i].common, 0.03, 5 + i);
        for (int row = 0; row < ROWS; row++)
            for (int file = BASE; file < FILES; file++)
                logs[row][file] += cases[i].all + (row == 7 ? cases[i].one : 0);
        assert_ok(run_noise_learn(&noise, &logs[0][0], ROWS, BASE, AFTER, NULL));
        assert_int_equal(run_noise_moved(&noise, BASE, AFTER, NAN, log(1.05)), cases[i].moved);
        if (cases[i].common == 0)
            assert_near(noise.shift, cases[i].all, 0.02);
        run_noise_release(&noise);
    }
}

/* One run per side: rows differ by 20% times the root of 2, and a tenth of them by far more. */
TEST(rows_of_one_run_per_side_tell_the_least_noise)
{
    enum { MANY = 2000 };
    static double logs[MANY][2];
    struct random random = random_seed(3, 0);
    struct run_noise noise;

    for (int row = 0; row < MANY; row++)
        for (int file = 0; file < 2; file++)
            logs[row][file] = row + 0.2 * (double)random_normal(&random) +
                              (file == 1 ? 0.1 + (row % 10 == 0 ? 3 : 0) : 0);
    assert_ok(run_noise_learn(&noise, &logs[0][0], MANY, 1, 1, NULL));
    assert_int_equal(noise.rows, 0);
    assert_near(noise.alone, 0.2, 0.04);
    assert_near(noise.most, 0.13, 0.03);
    assert_int_equal(run_noise_moved(&noise, 1, 1, 0.01, log(1.05)), 1);
    assert_int_equal(run_noise_moved(&noise, 1, 1, 0.05, log(1.05)), 0);
    assert_int_equal(run_noise_moved(&noise, 1, 1, NAN, log(1.05)), 0);
    run_noise_release(&noise);
}

TEST(all_rows_tell_what_one_alone_does_not)
{
    static const double slower[] = { 100, 102, 98, 110, 112, 108 };
    static const double odd_run[] = { 100, 101, 100, 101, 100, 140 };
    static const double equal[] = { 100, 102, 99, 101, 100, 103 };
    double logs[ROWS][FILES];
    struct run_noise noise;
    struct compared_row row;

    draw(logs, 0, 0.02, 5);
    assert_ok(run_noise_learn(&noise, logs[0], ROWS, BASE, AFTER, NULL));
    row = compared(slower, &noise);
    assert_int_equal(row.verdict, COMPARE_SLOWER);
    assert_int_equal(row.noise, NOISE_ROWS);
    row = compared(slower, NULL);
    assert_int_equal(row.noise, NOISE_RUNS);
    assert_true(row.high - row.low > compared(slower, &noise).high - compared(slower, &noise).low);

    /* The mean is 13% up, but two of three runs say nothing of the kind: not even where the rows
     * are alike, so that the odd run does not count as noise. */
    assert_int_equal(compared(odd_run, &noise).verdict, COMPARE_UNDECIDED);
    noise.prior.freedom = INFINITY;
    row = compared(odd_run, &noise);
    assert_int_equal(row.verdict, COMPARE_UNDECIDED);
    assert_non_null(strstr(row.reason, "the runs of the two sides overlap"));
    assert_int_equal(compared(slower, &noise).verdict, COMPARE_SLOWER);
    assert_int_not_equal(compared(equal, &noise).verdict, COMPARE_SLOWER);
    run_noise_release(&noise);
}

/* If the rows as a whole moved, a row that moved the same way is called as soon as its interval of
 * 95% says that it moved; else it takes more. */
TEST(a_row_that_moved_with_all_needs_no_more_than_its_interval)
{
    double logs[ROWS][FILES];

    for (int moved = 0; moved < 2; moved++) {
        struct run_noise noise;
        int called = 0, doubted = 0, disagree = 0;
        draw(logs, 0.03, 0.03, 11);
        for (int row = 0; row < ROWS; row++)
            for (int file = BASE; file < FILES; file++) logs[row][file] += 0.5 * moved;
        assert_ok(run_noise_learn(&noise, logs[0], ROWS, BASE, AFTER, NULL));
        assert_int_equal(run_noise_moved(&noise, BASE, AFTER, NAN, log(1.05)), moved);
        for (double change = 0.055; change < 0.5; change += 0.005) {
            double after = 100 * (1 + change), times[] = { 100, 100, 100, after, after, after };
            struct compared_row row = compared(times, &noise);
            called += row.verdict == COMPARE_SLOWER;
            doubted += row.verdict == COMPARE_UNDECIDED;
            disagree += (row.verdict == COMPARE_SLOWER) != (row.low > 0);
        }
        assert_true(called > 20 && doubted > 2);
        assert_true(moved ? disagree == 0 : disagree > 2);
        run_noise_release(&noise);
    }
}

/* With so many runs per side nineteen of twenty such changes are called: twice 1.645 errors and
 * more, at a chance of 0.008 for a false alarm; by the tables of Student's t. */
TEST(runs_that_a_change_takes_are_known)
{
    static const struct {
        double between, target, limit;
        int runs;
    } cases[] = {
        { 0.01, 0.05, 0, 4 },  { 0.02, 0.06, 0.02, 6 }, { 0.05, 2 * 0.04879016, 0.04879016, 12 },
        { 0.02, 0.03, 0, 18 }, { 0.1, 0.1, 0.05, 39 },  { 0.1, 0.05, 0.02, RUNS_MOST + 1 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(compare_runs_needed(cases[i].between, cases[i].target, cases[i].limit),
                         cases[i].runs);
}

TEST(undecided_says_how_many_runs_would_tell)
{
    static const double drowned[] = { 100, 120, 90, 110, 125, 100 };
    struct compared_row row = compared(drowned, NULL);

    assert_int_equal(row.verdict, COMPARE_UNDECIDED);
    assert_non_null(strstr(row.reason, "runs of one side vary by 13"));
    assert_non_null(strstr(row.reason, "a change of 10% would take "));
}
