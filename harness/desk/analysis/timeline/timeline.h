/* The order of events: all device work with the calls that caused it, what the host did, and how
 * busy each device and stream was.
 *
 * Device work is kernels, copies and memsets; waits and annotations are not. */
#pragma once

#include "harness/desk/analysis/timeline/intervals.h"
#include "harness/desk/trace/trace_file.h"

/* --- How busy devices are --- */

/* How work keeps a device busy: the figures of a stream, of a device, or of all.
 *
 * Definitions are those of HolisticTraceAnalysis (hta/analyzers/breakdown_analysis.py,
 * communication_analysis.py), in nanoseconds where it rounds to microseconds:
 *   span           from the first work's start to the last work's end
 *   busy           the union of all work; idle = span - busy
 *   computation    the union of kernels that do not communicate
 *   overlap        communication while computation runs; exposed: while it does not
 * The cause of an idle stretch is that of the work which ends it (enum idle_cause). */

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

const char *work_kind_name(enum work_kind kind);    /* "computation" */
const char *idle_cause_name(enum idle_cause cause); /* "host_wait" */

/* --- The timeline --- */

/* The usage of a stream, or of a whole device: then `stream` is -1. */
struct track_usage {
    int64_t device, stream;
    struct usage usage;
};

struct timeline {
    const struct trace_file *trace;
    struct work *work; /* by start, then end */
    int64_t work_count;
    /* Operators, annotations other than steps, and calls, by thread and start. An event comes
     * before those that it contains, and calls come last. */
    const struct trace_event **host;
    int64_t host_count;
    struct usage all; /* all devices as one, as HolisticTraceAnalysis takes a rank's trace */
    struct track_usage *devices, *streams; /* by number */
    int64_t device_count, stream_count;
    int64_t from_ns; /* the first marked step begins, or what is cut off ends: totals leave out what
                      * ended before; INT64_MIN: neither, or steps are not known yet */
    bool host_alone; /* no device is described, called, at work or `needed`: the host computes
                        itself */
    /* The name of the first event that only a program with a GPU has, or "backend nccl"; NULL:
     * none. Without device work its rows are missing. Not looked for where there is some. */
    const char *needed;
};

/* `trace` must live longer. */
struct timeline timeline_of(struct arena *arena, const struct trace_file *trace);

/* Whether totals count an event: it did not end before the first marked step. */
static inline bool timeline_counts(const struct timeline *timeline, const struct trace_event *event)
{
    return event->end_ns > timeline->from_ns;
}

/* The usage of all devices as one, by the work that totals count; its part before the first marked
 * step is cut off. */
struct usage timeline_counted_usage(const struct timeline *timeline);

/* The end of a wait at the start of the recording: work had been launched and waited, for a
 * twentieth of the recording or more, before the device had worked for a hundredth of that. The
 * work that it waited for began before the recording, and is not in it. INT64_MIN: there is
 * none. */
int64_t timeline_cut_ns(const struct timeline *timeline);

/* The device that did most of the work; NULL: none did any. */
const struct track_usage *timeline_busiest(const struct timeline *timeline);

/* The same as the trace describes it, or without work the first that the trace describes. NULL:
 * it is not described. */
const struct event_device *timeline_device(const struct timeline *timeline);

/* The part of `times`, which are merged, in which no device worked; merged. */
struct intervals timeline_idle_within(struct arena *arena, const struct timeline *timeline,
                                      const struct intervals *times);

/* How long the work was that each call caused, of what counts. */
struct caused_time {
    uint32_t *sum_of; /* by event: the number of its sum; 0: it caused none */
    int64_t *sums_ns; /* the first is 0 */
};
struct caused_time timeline_caused_time(struct arena *arena, const struct timeline *timeline);

static inline int64_t caused_ns(const struct caused_time *caused, int64_t event)
{
    return caused->sums_ns[caused->sum_of[event]];
}
