/* The Mann-Whitney test and Student's t, against tables. With --check it answers questions from standard
 * input, so that another implementation can be held against it. */
#include "harness/base/status.h"
#include "harness/compare/mann_whitney.h"
#include "harness/compare/student.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cmocka's own compares floats. */
static void assert_near(double value, double expected, double limit)
{
    if (!(fabs(value - expected) <= limit))
        fail_msg("%.17g is not %.17g", value, expected);
}

/* Every order of the ranks of both sides is as likely: counts those whose u is as far out. */
static double counted_p(double u, int first, int second)
{
    int all = 0, out = 0, count = first + second;

    for (unsigned chosen = 0; chosen < 1u << count; chosen++) {
        double statistic = 0;
        int members = 0;
        for (int i = 0; i < count; i++) {
            if ((chosen >> i & 1) == 0)
                continue;
            statistic += i - members++; /* the others below it */
        }
        if (members != first)
            continue;
        all++;
        out += fabs(statistic - first * second / 2.0) >= fabs(u - first * second / 2.0);
    }
    return (double)out / all;
}

static void exact_p_is_the_share_of_orders_as_far_out(void **state)
{
    (void)state;
    for (int first = 1; first <= 6; first++)
        for (int second = 1; second <= 6; second++)
            for (int shift = 0; shift <= second; shift++) {
                double a[6], b[6];
                struct mann_whitney result;
                for (int i = 0; i < first; i++) a[i] = shift + i + 0.5;
                for (int i = 0; i < second; i++) b[i] = i;
                result = mann_whitney_test(a, first, b, second);
                assert_true(result.exact);
                assert_near(result.p, counted_p(result.u, first, second), 1e-12);
            }
}

/* Critical values of U, two-sided 5% (Mann and Whitney's table as in Siegel, "Nonparametric Statistics",
 * table K): the largest U that is still significant. */
static void critical_values_are_those_of_the_tables(void **state)
{
    static const struct {
        int first, second, critical;
    } cases[] = { { 4, 4, 0 },  { 5, 5, 2 },   { 6, 6, 5 },     { 7, 7, 8 },
                  { 8, 8, 13 }, { 9, 9, 17 },  { 10, 10, 23 },  { 3, 5, 0 },
                  { 5, 9, 7 },  { 8, 12, 22 }, { 20, 20, 127 }, { 10, 20, 55 } };
    (void)state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int first = cases[i].first, second = cases[i].second, significant = -1;
        double a[20], b[20];
        for (int j = 0; j < second; j++) b[j] = j + 0.5;
        /* Of first * second steps, `u` are taken: the first values stand above so many of the others. */
        for (int u = 0; u <= first * second / 2; u++) {
            int left = u;
            struct mann_whitney result;
            for (int j = 0; j < first; j++) {
                int above = left < second ? left : second;
                left -= above;
                a[j] = above + j / 100.0;
            }
            result = mann_whitney_test(a, first, b, second);
            assert_true(result.u == u);
            if (result.p <= 0.05)
                significant = u;
        }
        assert_int_equal(significant, cases[i].critical);
    }
}

static void ties_take_the_corrected_approximation(void **state)
{
    /* scipy.stats.mannwhitneyu([1,2,2,3,3,3], [2,3,4,4,5,5], method='asymptotic') */
    static const double a[] = { 1, 2, 2, 3, 3, 3 }, b[] = { 2, 3, 4, 4, 5, 5 };
    static const double equal[] = { 7, 7, 7, 7 };
    struct mann_whitney result = mann_whitney_test(a, 6, b, 6);
    (void)state;

    assert_false(result.exact);
    assert_true(result.u == 5.5);
    assert_near(result.p, 0.047967873742731204, 1e-9);
    result = mann_whitney_test(equal, 4, equal, 3);
    assert_true(result.p == 1);
}

static void sides_may_be_swapped(void **state)
{
    static const double a[] = { 5, 1, 9, 7 }, b[] = { 2, 8, 3 };
    struct mann_whitney forth = mann_whitney_test(a, 4, b, 3), back = mann_whitney_test(b, 3, a, 4);
    (void)state;

    assert_true(forth.u == 7 && back.u == 5);
    assert_near(forth.p, back.p, 1e-15);
}

static void nothing_is_known_of_an_empty_side_or_of_nan(void **state)
{
    static const double a[] = { 1, 2 }, b[] = { 1, NAN };
    (void)state;

    assert_true(isnan(mann_whitney_test(a, 2, b, 0).p));
    assert_true(isnan(mann_whitney_test(a, 2, b, 2).p));
    assert_true(mann_whitney_least_p(0, 5) == 1);
    assert_near(mann_whitney_least_p(4, 4), 2 / 70.0, 1e-12);
    assert_near(mann_whitney_least_p(3, 3), 0.1, 1e-12);
}

/* Critical values of t, two-sided (Fisher and Yates, "Statistical Tables", table III). */
static void critical_t_is_that_of_the_tables(void **state)
{
    static const struct {
        double freedom, five, one;
    } cases[] = { { 1, 12.706, 63.657 },     { 2, 4.303, 9.925 },  { 4, 2.776, 4.604 },
                  { 10, 2.228, 3.169 },      { 16, 2.120, 2.921 }, { 120, 1.980, 2.617 },
                  { INFINITY, 1.960, 2.576 } };
    (void)state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_near(student_critical(0.05, cases[i].freedom), cases[i].five, 6e-4);
        assert_near(student_critical(0.01, cases[i].freedom), cases[i].one, 6e-4);
    }
    assert_near(student_two_sided(1, 1), 0.5, 1e-14); /* Cauchy */
    assert_true(student_two_sided(0, 7) == 1);
    assert_true(student_two_sided(INFINITY, 7) == 0);
    assert_true(isnan(student_two_sided(NAN, 7)));
}

static int read_values(double *values, int most)
{
    int count = 0;

    if (scanf("%d", &count) != 1 || count < 0 || count > most)
        return -1;
    for (int i = 0; i < count; i++)
        if (scanf("%lf", &values[i]) != 1)
            return -1;
    return count;
}

/* Lines of "u N values M values" or "t value freedom"; answers "u p exact" or "p". */
static int answer(void)
{
    static double first[1000], second[1000];
    char kind[2];

    while (scanf("%1s", kind) == 1) {
        if (kind[0] == 'u') {
            int count = read_values(first, 1000), other = read_values(second, 1000);
            struct mann_whitney result;
            if (count < 0 || other < 0)
                return 2;
            result = mann_whitney_test(first, count, second, other);
            printf("%.17g %.17g %d\n", result.u, result.p, result.exact);
        } else {
            double t, freedom;
            if (scanf("%lf %lf", &t, &freedom) != 2)
                return 2;
            printf("%.17g\n", student_two_sided(t, freedom));
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_p_is_the_share_of_orders_as_far_out),
        cmocka_unit_test(critical_values_are_those_of_the_tables),
        cmocka_unit_test(ties_take_the_corrected_approximation),
        cmocka_unit_test(sides_may_be_swapped),
        cmocka_unit_test(nothing_is_known_of_an_empty_side_or_of_nan),
        cmocka_unit_test(critical_t_is_that_of_the_tables),
    };

    if (argc == 2 && strcmp(argv[1], "--check") == 0)
        return answer();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
