/* One trace of one configuration: what the tracing child and `train --trace` share.
 *
 * It follows the profiler's usual schedule. Wait: windows of the step on a device without a tracer,
 * timed. Warm-up: such windows on a device that records, timed; their records are thrown away.
 * Active: one more window, whose records are kept and written; one that other programs disturbed is
 * recorded again. trace_plan() gives the length of a window.
 *
 * The cost of tracing is the median of the recorded windows over the median of the others. There
 * are few windows, so a cost below their spread is noise. The wait is left out where the step's
 * time is known.
 *
 * Where the device's counters are asked for, they are read over one more window, whose steps are
 * not recorded. */
#pragma once

#include "harness/engine/step/training.h"
#include "harness/lab/experiment/protocol.h"
#include "harness/lab/experiment/result.h"
#include "scenarios/scenario.h"

#include <stdbool.h>
#include <stdint.h>

/* The length of a trace's windows and their number: enough steps for statistics and for what is
 * periodic, but few enough to write, read and look at.
 *
 * A window has at least 5 steps, 20 where steps are short, and two periods of everything
 * periodic in either variant. It has fewer steps where a step launches very many kernels, down to
 * the three of PyTorch's example schedule (torch.profiler.schedule(wait=1, warmup=1, active=3)).
 * If two periods take over 0.1 s or launch very many kernels, fewer are enough if both variants
 * have the same period: per step, both traces then hold the same amount of what is periodic. */
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

struct trace_run {
    /* The order. */
    const char *name; /* of what is traced: "item_sync.before" */
    const char *
        path; /* compressed if it ends in ".gz"; of several ranks each has its own (rank_trace.h) */
    const struct protocol *protocol;      /* the device, and whether it is quick */
    const struct training_config *config; /* resolved */
    int64_t period;                       /* of a window, in steps */
    bool alike;                           /* that is the period of `config` alone too */
    double step_time_us;                  /* without a tracer; 0: trace_run_wait() measures it */
    struct ceilings ceilings;             /* that the trace states */
    struct device_properties device;      /* without a tracer */
    const volatile sig_atomic_t *stop;    /* not 0: recording ends; NULL: never */

    struct tracing tracing; /* filled in once the trace is written */
    struct hardware_counters counters;
    char counters_reason[sizeof((struct tracing *)NULL)->counters_reason];

    struct trace_plan plan;
    double wait_us[TRACE_WINDOWS_MOST], traced_us[TRACE_WINDOWS_MOST]; /* per step, by window */
    struct trace *trace;
};

/* Times the windows without a tracer. `device` has no sink. */
enum status trace_run_wait(struct trace_run *run, struct device *device);

/* Opens the device with a sink, warms up, records, and writes the trace; no other device is open.
 * IO when it cannot be written. INTERRUPTED when it was stopped before all steps were recorded:
 * then nothing is written. */
enum status trace_run_record(struct trace_run *run);

/* The tracing child: writes a trace of one variant (trace_run.h). For a quick run the step time of
 * the timing child is good enough. */
struct tracing_order {
    enum variant variant;
    const char *path;    /* of the trace; compressed if it ends in ".gz" */
    double step_time_us; /* measured by the timing child; 0: measured here */
};

/* Writes the trace, then sets *written, and writes one record to `descriptor`: "tracing"; "skipped"
 * where the device cannot show the scenario; or "error" with the failure, which is also returned.
 * Writes no record if the descriptor is negative. Ignores SIGPIPE from then on. */
enum status tracing_child(const struct scenario *scenario, const struct protocol *protocol,
                          const struct tracing_order *order, int descriptor, bool *written);
