/* The limits below are lengths of traces that are still quick to write, read and look at. Whole
 * periods come first, unless two of them would be longer than that. */
#include "harness/lab/experiment/child/trace_run.h"

#include "harness/base/figures/statistics.h"
#include "harness/lab/experiment/child/window.h"

enum {
    PERIODS = 2,
    STEPS_WANTED = 5,
    STEPS_ENOUGH = 20,
    STEPS_FEWEST = 3,
};

#define STEPS_ENOUGH_NS      5e7
/* The approximate length of all windows of one kind together, and their least number: a single one
 * has no spread. */
#define WINDOWS_NS(quick)    ((quick) ? 5e7 : 1e8)
#define WINDOWS_LEAST(quick) ((quick) ? 1 : 2)
#define LONG_NS              1e8
/* More launches add no information, and are slow to write and to read. */
#define LAUNCHES_MOST        20000
/* Recording itself costs less: a third of the shortest steps. */
#define DISTURBED            2

static int64_t at_least(int64_t value, int64_t least)
{
    return value > least ? value : least;
}

static int64_t steps_of_window(const struct trace_need *need)
{
    double step_ns = need->step_us * 1e3;
    int64_t few = (int64_t)(STEPS_ENOUGH_NS / step_ns), many;

    few = at_least(few < STEPS_ENOUGH ? few : STEPS_ENOUGH, STEPS_WANTED);
    if (need->launches * (double)few > LAUNCHES_MOST)
        few = at_least((int64_t)(LAUNCHES_MOST / need->launches), STEPS_FEWEST);
    few = window_whole_periods(few, need->period);
    many = at_least(few, PERIODS * need->period);
    if (need->alike &&
        (step_ns * (double)many > LONG_NS || need->launches * (double)many > LAUNCHES_MOST))
        return few;
    return many;
}

struct trace_plan trace_plan(const struct trace_need *need)
{
    struct trace_plan plan = { .steps = steps_of_window(need) };
    double windows = WINDOWS_NS(need->quick) / (need->step_us * 1e3 * (double)plan.steps);

    plan.windows = windows < TRACE_WINDOWS_MOST ? (int)windows : TRACE_WINDOWS_MOST;
    if (plan.windows < WINDOWS_LEAST(need->quick))
        plan.windows = WINDOWS_LEAST(need->quick);
    return plan;
}

bool trace_window_is_disturbed(const double *traced_us, int windows, double wait_us)
{
    double usual_us = windows > 1 ? stats_median(traced_us, windows) : wait_us;

    return traced_us[windows - 1] > DISTURBED * usual_us;
}
