/* How long the windows of a trace are, and how many: enough steps for statistics and for what is periodic,
 * few enough to write, read and look at.
 *
 * A window is at least 10 steps (quick: 5), 20 where those are short, and two periods of whatever is
 * periodic in either variant. Steps that launch very much are fewer, down to the three of PyTorch's
 * example schedule (torch.profiler.schedule(wait=1, warmup=1, active=3)). Where two periods take most of
 * a second or launch very much, fewer do if both variants have the same period: both then hold as much a
 * step of what is periodic. */
#ifndef HARNESS_EXPERIMENT_CHILD_TRACE_PLAN_H
#define HARNESS_EXPERIMENT_CHILD_TRACE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

enum { TRACE_WINDOWS_MOST = 9 };

struct trace_plan {
    int64_t steps; /* of a window: whole periods */
    int windows;   /* of a kind, 1 to TRACE_WINDOWS_MOST */
};

/* What the plan depends on. */
struct trace_need {
    double step_us, launches; /* of a step */
    int64_t period;           /* in steps, of both variants together */
    bool alike;               /* both variants have that period */
    bool quick;
};

struct trace_plan trace_plan(const struct trace_need *need);

#endif
