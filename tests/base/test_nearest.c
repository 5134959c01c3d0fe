/* Misspelt names. */
#include "harness/base/nearest.h"
#include "harness/base/status.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <string.h>

static void distances_of_known_pairs(void **state)
{
    static const struct {
        const char *a, *b;
        int distance;
    } cases[] = {
        { "", "", 0 },
        { "", "abc", 3 },
        { "workers", "workers", 0 },
        { "kitten", "sitting", 3 },
        { "wrokers", "workers", 1 },
        { "woker", "workers", 2 },
        { "loss-every", "loss_every", 0 },
        { "loss_every", "Loss-Every", 0 },
        { "a_b", "a+b", 1 },
        { "ca", "abc", 3 }, /* 2 where a piece may be edited twice */
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(nearest_distance(cases[i].a, cases[i].b), cases[i].distance);
        assert_int_equal(nearest_distance(cases[i].b, cases[i].a), cases[i].distance);
    }
}

static void long_names_are_cut_not_overrun(void **state)
{
    char a[500], b[500];
    (void)state;

    memset(a, 'a', sizeof a - 1);
    memset(b, 'b', sizeof b - 1);
    a[sizeof a - 1] = b[sizeof b - 1] = '\0';
    assert_int_equal(nearest_distance(a, b), 63);
    assert_int_equal(nearest_distance(a, ""), 63);
}

static void the_nearest_is_the_first_of_the_closest(void **state)
{
    static const char *const names[] = { "workers", "prefetch", "launch", "lunch" };
    (void)state;

    assert_string_equal(nearest_name("wrokesr", names, 4), "workers");
    assert_string_equal(nearest_name("pre_fetch", names, 4), "prefetch");
    assert_string_equal(nearest_name("lanch", names, 4), "launch");
    assert_null(nearest_name("launch", names, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_of_known_pairs),
        cmocka_unit_test(long_names_are_cut_not_overrun),
        cmocka_unit_test(the_nearest_is_the_first_of_the_closest),
    };
    return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
