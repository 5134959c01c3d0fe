/* How many steps a trace holds, and how many windows are timed. */
#include "harness/base/status.h"
#include "harness/lab/experiment/child/trace_run.h"
#include "tests/fixtures/cmocka_prelude.h"

TEST(traces_are_as_long_as_is_of_use)
{
    static const struct {
        struct trace_need need;
        int64_t steps;
        int windows;
    } cases[] = {
        /* Short steps that launch little. */
        { { 1, 1, 1, true, true }, 20, 9 },
        { { 1, 1, 1, true, false }, 20, 9 },
        { { 1000, 100, 1, true, true }, 20, 2 },
        { { 1000, 100, 1, true, false }, 20, 5 },
        /* Longer ones. */
        { { 4000, 100, 1, true, true }, 12, 1 },
        { { 4000, 100, 1, true, false }, 12, 2 },
        { { 30000, 100, 1, true, true }, 5, 1 },
        { { 30000, 100, 1, true, false }, 5, 2 },
        /* Two periods, also of steps that are few without. */
        { { 3000, 100, 20, false, true }, 40, 1 },
        { { 2000, 100, 20, true, false }, 40, 2 },
        { { 10000, 100, 4, true, true }, 8, 1 },
        { { 30000, 100, 2, true, false }, 6, 2 },
        { { 30000, 100, 7, false, false }, 14, 2 },
        /* Two take over 0.1 s: one, if it is the same for both variants. */
        { { 3000, 100, 20, true, false }, 20, 2 },
        { { 30000, 100, 10, true, true }, 10, 1 },
        { { 30000, 100, 10, false, true }, 20, 1 },
        /* Two are 24000 launches: the same. */
        { { 300, 600, 20, true, true }, 20, 8 },
        { { 300, 600, 20, false, true }, 40, 4 },
        { { 300, 600, 20, true, false }, 20, 9 },
        /* Very many launches per step. */
        { { 8000, 4000, 1, true, true }, 5, 1 },
        { { 8000, 5500, 1, true, true }, 3, 2 },
        { { 8000, 12600, 3, true, true }, 3, 2 },
        { { 8000, 12600, 3, true, false }, 3, 4 },
        { { 8000, 12600, 4, true, true }, 4, 1 },
        { { 8000, 12600, 4, false, true }, 8, 1 },
        { { 8000, 1e6, 1, true, true }, 3, 2 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct trace_plan plan = trace_plan(&cases[i].need);
        assert_int_equal(plan.steps, cases[i].steps);
        assert_int_equal(plan.windows, cases[i].windows);
        assert_int_equal(plan.steps % cases[i].need.period, 0);
    }
}

TEST(a_window_is_disturbed_by_the_others_or_by_the_step_without_a_tracer)
{
    static const struct {
        double traced_us[5];
        int windows;
        double wait_us;
        bool disturbed;
    } cases[] = {
        { { 100, 110, 105, 95, 900 }, 5, 80, true },
        { { 100, 110, 900, 95, 105 }, 5, 80, false },  /* its records are thrown away */
        { { 900, 910, 905, 905, 900 }, 5, 80, false }, /* recording costs as much */
        { { 100, 110, 105, 95, 200 }, 5, 80, false },
        { { 161 }, 1, 80, true },
        { { 159 }, 1, 80, false },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(
            trace_window_is_disturbed(cases[i].traced_us, cases[i].windows, cases[i].wait_us),
            cases[i].disturbed);
}
