/* The tracing child: writes a trace of one variant.
 *
 * It follows the profiler's usual schedule. Wait: windows of the step on a device without a tracer,
 * timed. Warm-up: such windows on a device that records, timed; their records are thrown away. Active:
 * one more window, whose records are kept and written. trace_plan.h gives the length of a window.
 *
 * The cost of tracing is the median of the recorded windows over the median of the others. There are few
 * windows, so a cost below their spread is noise. The wait is left out where the step's time is known:
 * for a quick run that of the timing child is good enough. */
#ifndef HARNESS_EXPERIMENT_CHILD_TRACING_H
#define HARNESS_EXPERIMENT_CHILD_TRACING_H

#include "harness/experiment/protocol.h"
#include "scenarios/scenario.h"

struct tracing_order {
    enum variant variant;
    const char *path;    /* of the trace; compressed if it ends in ".gz" */
    int jpeg_pixels;     /* the choice of the timing child; 0: measured here */
    double step_time_us; /* measured by the timing child; 0: measured here */
};

/* Writes the trace and then one record to `descriptor`: "tracing"; "skipped" where the device cannot
 * show the scenario; or "error" with the failure, which is also returned. Writes no record if the
 * descriptor is negative. Ignores SIGPIPE from then on. */
enum status tracing_child(const struct scenario *scenario, const struct protocol *protocol,
                          const struct tracing_order *order, int descriptor);

#endif
