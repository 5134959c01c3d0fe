/* The tracing child: writes a trace of one variant (trace_run.h). For a quick run the step time of
 * the timing child is good enough. */
#pragma once

#include "harness/lab/experiment/protocol.h"
#include "scenarios/scenario.h"

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
