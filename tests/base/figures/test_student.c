/* Student's t against closed forms, values computed with 40 digits, and tables. */
#include "harness/base/figures/student.h"
#include "harness/base/status.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>

/* cmocka's own compares floats. */
static void assert_near(double value, double expected, double limit)
{
    if (!(fabs(value - expected) <= limit))
        fail_msg("%.17g is not %.17g", value, expected);
}

static void assert_relative(double value, double expected, double limit)
{
    assert_near(value, expected, limit * expected);
}

/* Abramowitz and Stegun 26.7.3 and 26.7.4: 2/pi atan(1/t), 1 - s and 1 - s (1 + c/2), where s is
 * t / sqrt(freedom + t^2) and c is 1 - s^2. */
TEST(two_sided_is_that_of_the_closed_forms)
{
    for (double t = 0.0625; t <= 8; t *= 1.25) {
        double two = t / sqrt(2 + t * t), four = t / sqrt(4 + t * t);

        assert_relative(student_two_sided(t, 1), atan(1 / t) * 2 / acos(-1), 1e-12);
        assert_relative(student_two_sided(t, 2), 1 - two, 1e-12);
        assert_relative(student_two_sided(t, 4), 1 - four * (1 + (1 - four * four) / 2), 1e-12);
        assert_true(student_two_sided(-t, 4) == student_two_sided(t, 4));
    }
}

/* Computed with mpmath 1.3: betainc(freedom / 2, 1 / 2, 0, freedom / (freedom + t * t),
 * regularized=True). With 5000 degrees the logarithms of gamma are near 2e4, so double keeps
 * 4e-12. */
TEST(two_sided_is_that_of_mpmath)
{
    static const struct {
        double freedom, t, expected;
    } cases[] = {
        { 7, 0.5, 0.632407135689284216 },    { 7, 2, 0.0856193285629760768 },
        { 7, 8, 0.0000911492117087536242 },  { 16, 0.5, 0.623881555300045917 },
        { 16, 2, 0.0627719635146033469 },    { 16, 8, 5.54544764369322845e-7 },
        { 100, 0.5, 0.618173565830886572 },  { 100, 2, 0.0482121787311336796 },
        { 100, 8, 2.27286480772808065e-12 }, { 5000, 0.5, 0.617097080854033779 },
        { 5000, 2, 0.0455542599882939723 },  { 5000, 8, 1.53398718869154546e-15 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_relative(student_two_sided(cases[i].t, cases[i].freedom), cases[i].expected,
                        cases[i].freedom > 1000 ? 1e-11 : 1e-12);
}

/* Critical values of t, two-sided (Fisher and Yates, "Statistical Tables", table III). */
TEST(critical_t_is_that_of_the_tables)
{
    static const struct {
        double freedom, five, one;
    } cases[] = { { 1, 12.706, 63.657 },     { 2, 4.303, 9.925 },  { 4, 2.776, 4.604 },
                  { 10, 2.228, 3.169 },      { 16, 2.120, 2.921 }, { 120, 1.980, 2.617 },
                  { INFINITY, 1.960, 2.576 } };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_near(student_critical(0.05, cases[i].freedom), cases[i].five, 6e-4);
        assert_near(student_critical(0.01, cases[i].freedom), cases[i].one, 6e-4);
    }
    assert_near(student_two_sided(1, 1), 0.5, 1e-14); /* Cauchy */
    assert_true(student_two_sided(0, 7) == 1);
    assert_true(student_two_sided(INFINITY, 7) == 0);
    assert_true(isnan(student_two_sided(NAN, 7)));
}
