/* The length of a trace's windows and their number: enough steps for statistics and for what is
 * periodic, but few enough to write, read and look at.
 *
 * A window has at least 5 steps, 20 where steps are short, and two periods of everything
 * periodic in either variant. It has fewer steps where a step launches very many kernels, down to
 * the three of PyTorch's example schedule (torch.profiler.schedule(wait=1, warmup=1, active=3)).
 * If two periods take over 0.1 s or launch very many kernels, fewer are enough if both variants
 * have the same period: per step, both traces then hold the same amount of what is periodic. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { TRACE_WINDOWS_MOST = 9 };

struct trace_plan {
    int64_t steps; /* of a window: whole periods */
    int windows;   /* of each kind (traced and not), 1 to TRACE_WINDOWS_MOST */
};

/* The facts that the plan depends on. */
struct trace_need {
    double step_us, launches; /* both per step */
    int64_t period;           /* in steps, of both variants together */
    bool alike;               /* each variant alone has that period */
    bool quick;
};

struct trace_plan trace_plan(const struct trace_need *need);

/* Whether the last of `windows` recorded windows, whose records are the trace, shows the machine
 * and not the steps: it took over twice as long as their median, or, if it is the only one, as
 * `wait_us` without a tracer. A window of short steps lasts 4 ms, and a core that another program
 * takes is gone for 20. It is then recorded again, TRACE_AGAIN_MOST times at most. All times are
 * per step. */
enum { TRACE_AGAIN_MOST = 3 };
bool trace_window_is_disturbed(const double *traced_us, int windows, double wait_us);
