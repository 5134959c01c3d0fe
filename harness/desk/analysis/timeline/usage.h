/* How work keeps a device busy: the figures of a stream, of a device, or of all.
 *
 * Definitions are those of HolisticTraceAnalysis (hta/analyzers/breakdown_analysis.py,
 * communication_analysis.py), in nanoseconds where it rounds to microseconds:
 *   span           from the first work's start to the last work's end
 *   busy           the union of all work; idle = span - busy
 *   computation    the union of kernels that do not communicate
 *   overlap        communication while computation runs; exposed: while it does not
 * The cause of an idle stretch is that of the work which ends it (enum idle_cause). */
#ifndef HARNESS_DESK_ANALYSIS_TIMELINE_USAGE_H
#define HARNESS_DESK_ANALYSIS_TIMELINE_USAGE_H

#include "harness/desk/trace/trace_file.h"

/* A shorter gap before work that was queued in time is the device's own. This is
 * HolisticTraceAnalysis' consecutive_kernel_delay of 30, which it compares with microseconds. */
enum { IDLE_DEVICE_WAIT_NS = 30000 };

enum idle_cause {
    IDLE_HOST_WAIT,   /* its call began after the device went idle */
    IDLE_DEVICE_WAIT, /* it was queued, and the gap is short */
    IDLE_OTHER,       /* it was queued, yet waited longer; or its call is not in the trace */
    IDLE_CAUSE_COUNT
};

enum work_kind { WORK_COMPUTATION, WORK_COPY, WORK_MEMSET, WORK_COMMUNICATION, WORK_KIND_COUNT };

/* Device work and the host call that caused it. */
struct work {
    const struct trace_event *event;
    const struct trace_event *call; /* NULL: not in the trace */
    enum work_kind kind;
};

struct usage {
    int64_t work_count;
    int64_t start_ns, end_ns; /* both 0 without work */
    int64_t span_ns, busy_ns, idle_ns;
    int64_t idle_cause_ns[IDLE_CAUSE_COUNT]; /* their sum is idle_ns */
    int64_t kernel_ns;                       /* unions: of all kernels */
    int64_t kind_ns[WORK_KIND_COUNT];        /* of a kind */
    int64_t memory_ns;                       /* of copies and memsets */
    int64_t communication_overlap_ns, communication_exposed_ns;
    int64_t copy_exposed_ns;   /* copies while no kernel runs */
    int64_t memory_exposed_ns; /* copies and memsets, likewise */
};

/* Start with zeros and `usage` set. */
struct measuring {
    struct usage *usage;
    int64_t kinds_end_ns[WORK_KIND_COUNT], kernel_end_ns, memory_end_ns;
};

/* Add work in order of its start, then finish once. */
void usage_add(struct measuring *measuring, const struct work *work);
void usage_finish(struct usage *usage);

const char *work_kind_name(enum work_kind kind);    /* "computation" */
const char *idle_cause_name(enum idle_cause cause); /* "host_wait" */

#endif
