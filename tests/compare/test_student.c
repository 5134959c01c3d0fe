/* Student's t against tables. */
#include "harness/base/status.h"
#include "harness/compare/student.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>

/* cmocka's own compares floats. */
static void assert_near(double value, double expected, double limit)
{
    if (!(fabs(value - expected) <= limit))
        fail_msg("%.17g is not %.17g", value, expected);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(critical_t_is_that_of_the_tables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
