/* A run's location and its variance, compared with all samples that could be drawn. */
#include "harness/desk/compare/location.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>

static void assert_near(double value, double expected, double limit)
{
    if (!(fabs(value - expected) <= limit))
        fail_msg("%.17g is not %.17g", value, expected);
}

TEST(a_run_lies_at_its_best_repetition_or_that_quantile_of_more)
{
    static const struct {
        int count;
        double values[7];
        int fewest;
        bool largest;
        double expected;
    } cases[] = {
        { 1, { 8 }, 1, false, 8 },
        { 3, { 9, 4, 7 }, 3, false, 4 },
        { 3, { 9, 4, 7 }, 3, true, 9 },
        { 3, { 9, 4, 7 }, 1, false, 7 },                /* the median */
        { 4, { 1, 4, 16, 64 }, 1, true, 8 },            /* in the middle, of logarithms */
        { 7, { 64, 2, 1, 32, 4, 16, 8 }, 3, false, 2 }, /* the smallest quarter: place 2 */
        { 7, { 64, 2, 1, 32, 4, 16, 8 }, 3, true, 32 }, /* the largest */
        { 5, { 1, 2, 4, 8, 16 }, 2, false, 2 },         /* place 2 of 5: a third */
        { 4, { 1, 16, 256, 4096 }, 3, false, 2 },       /* place 1.25 */
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        double values[7];
        struct benchmark_row run = { .values = values, .count = cases[i].count };
        for (int j = 0; j < run.count; j++) values[j] = cases[i].values[j];
        assert_near(exp(location_of(&run, cases[i].fewest, cases[i].largest, true).log),
                    cases[i].expected, 1e-9);
    }
}

static double smallest_of(const double *sample, int count)
{
    double least = sample[0];

    for (int i = 1; i < count; i++) least = fmin(least, sample[i]);
    return least;
}

static double middle_of_three(const double *sample, int count)
{
    (void)count;
    return fmax(fmin(sample[0], sample[1]), fmin(fmax(sample[0], sample[1]), sample[2]));
}

/* The variance of a statistic over all samples of `count` that can be drawn from `values`, each as
 * likely. */
static double variance_by_drawing(const double *values, int count,
                                  double (*statistic)(const double *, int))
{
    double mean = 0, squares = 0;
    int samples = (int)lround(pow(count, count));

    for (int number = 0; number < samples; number++) {
        double sample[5] = { 0 }, value;
        for (int i = 0, rest = number; i < count; i++, rest /= count)
            sample[i] = values[rest % count];
        value = statistic(sample, count);
        mean += value / samples;
        squares += value * value / samples;
    }
    return squares - mean * mean;
}

TEST(its_variance_is_that_of_all_samples_that_could_be_drawn)
{
    double values[] = { 3, 1.5, 8, 2, 2.5 }, logs[5];
    struct benchmark_row run = { .values = values };

    for (int i = 0; i < 5; i++) logs[i] = log(values[i]);
    for (run.count = 2; run.count <= 5; run.count++)
        assert_near(location_of(&run, run.count, false, true).variance,
                    variance_by_drawing(logs, run.count, smallest_of), 1e-12);
    run.count = 3;
    assert_near(location_of(&run, 1, false, true).variance,
                variance_by_drawing(logs, 3, middle_of_three), 1e-12);
    assert_near(location_of(&run, 1, true, true).variance,
                location_of(&run, 1, false, true).variance, 1e-12);
}

TEST(one_repetition_tells_no_variance_and_equal_ones_none)
{
    double values[] = { 5, 5, 5 };
    struct benchmark_row run = { .values = values, .count = 1 };

    assert_true(isnan(location_of(&run, 1, false, true).variance));
    run.count = 3;
    assert_true(location_of(&run, 3, false, true).variance == 0);
}

TEST(of_a_file_of_aggregates_its_median_is_taken)
{
    struct benchmark_row run = { .median = 7, .deviation = 0.1, .repetitions = 8 };

    assert_near(exp(location_of(&run, 1, false, true).log), 7, 1e-12);
    assert_near(location_of(&run, 1, false, true).variance, acos(0) * 0.01 / 8, 1e-12);
    run.repetitions = 0;
    assert_true(isnan(location_of(&run, 1, false, true).variance));
}
