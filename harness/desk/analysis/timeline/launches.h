/* How the host launched the device's work: how long calls take, how long work waits after its call,
 * how much is queued.
 *
 * Definitions as in HolisticTraceAnalysis (hta/analyzers/cuda_kernel_analysis.py,
 * trace_counters.py), for every call that caused work, whatever its name: kernels, copies, graphs,
 * of runtime and driver. A graph is one launch, and its first work is what the launch is measured
 * by. Work that ended before the first marked step does not count. */
#pragma once

#include "harness/desk/analysis/timeline/captures.h"

enum {
    LAUNCH_LONG_CALL_NS = 50000,   /* a call beyond it is an outlier: HTA's runtime_cutoff */
    LAUNCH_LONG_DELAY_NS = 100000, /* likewise a delay */
};

struct launches {
    int64_t count;        /* calls that caused device work */
    int64_t kernel_count; /* of these, those whose first work is a kernel */
    int64_t work_count;   /* work that they caused; more than count where graphs are launched */
    int64_t orphan_count; /* work whose call is not in the trace */
    /* launching calls whose work is not in the trace; captured ones do not count */
    int64_t lost_count;
    int64_t host_ns;        /* in these calls */
    int64_t call_median_ns; /* of these calls: one that blocks does not move it */
    /* sum of the times from a call's end to its work's start; 0 if that is earlier */
    int64_t delay_ns;
    int64_t delay_max_ns;
    int64_t short_count;     /* single kernels shorter than their call, which is no outlier */
    int64_t long_call_count; /* outliers */
    /* Outliers that the device waited for: calls that launch a single kernel, not for the first
     * time, whose kernel waits for less time than the call takes. And what they take beyond the
     * mean of the calls that are no outliers. */
    int64_t late_call_count, late_call_ns;
    int64_t queue_max; /* the most launches of one stream that were issued and had not begun */
};

/* Whether a launch returned only when its kernel was done (CUDA_LAUNCH_BLOCKING=1): right after it,
 * and the kernel took most of the call. */
bool launch_is_held(const struct work *work);

struct launches launches_of(struct arena *arena, const struct timeline *timeline,
                            const struct captures *captures);
