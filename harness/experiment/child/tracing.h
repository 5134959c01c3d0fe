/* A trace of one variant: the tracing child's side.
 *
 * The profiler's schedule, as everyone knows it. Wait: windows of the step on a device that no tracer was
 * loaded for, timed. Warm-up: such windows on a device that records, timed; what they record is thrown
 * away. Active: one more, whose record is kept and written. trace_plan.h says how long they are.
 *
 * What tracing costs is the median of the recorded windows over that of the others. Windows are few: a cost
 * below their spread is noise. Where the step's time is known, the wait is left out: of a quick run the
 * timing child's is good enough. */
#ifndef HARNESS_EXPERIMENT_CHILD_TRACING_H
#define HARNESS_EXPERIMENT_CHILD_TRACING_H

#include "harness/experiment/experiment.h"

struct tracing_order {
    enum variant variant;
    const char *path;    /* of the trace; compressed where it ends in ".gz" */
    int jpeg_pixels;     /* as the timing child chose them; 0: measured here */
    double step_time_us; /* as the timing child measured it; 0: measured here */
};

/* Writes the trace and then one record to `descriptor`, a "tracing" one, "skipped" where the device
 * cannot show the scenario, or "error" with the failure, which is returned too. With a negative
 * descriptor it writes no record. Ignores SIGPIPE from then on. */
enum status tracing_child(const struct scenario *scenario, const struct protocol *protocol,
                          const struct tracing_order *order, int descriptor);

#endif
