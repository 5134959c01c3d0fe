/* One trace of one configuration: what the tracing child and `train --trace` share.
 *
 * It follows the profiler's usual schedule. Wait: windows of the step on a device without a tracer,
 * timed. Warm-up: such windows on a device that records, timed; their records are thrown away.
 * Active: one more window, whose records are kept and written; one that other programs disturbed is
 * recorded again. trace_plan.h gives the length of a window.
 *
 * The cost of tracing is the median of the recorded windows over the median of the others. There
 * are few windows, so a cost below their spread is noise. The wait is left out where the step's
 * time is known.
 *
 * Where the device's counters are asked for, they are read over one more window, whose steps are
 * not recorded. */
#pragma once

#include "harness/engine/step/training.h"
#include "harness/lab/experiment/child/trace_plan.h"
#include "harness/lab/experiment/protocol.h"
#include "harness/lab/experiment/result.h"

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
