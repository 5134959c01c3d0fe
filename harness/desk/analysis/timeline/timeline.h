/* The order of events: all device work with the calls that caused it, what the host did, and how
 * busy each device and stream was (usage.h).
 *
 * Device work is kernels, copies and memsets; waits and annotations are not. */
#ifndef HARNESS_DESK_ANALYSIS_TIMELINE_TIMELINE_H
#define HARNESS_DESK_ANALYSIS_TIMELINE_TIMELINE_H

#include "harness/desk/analysis/timeline/intervals.h"
#include "harness/desk/analysis/timeline/usage.h"

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
    int64_t from_ns; /* the first marked step begins: totals leave out what ended before;
                      * INT64_MIN: no step is marked, or steps are not known yet */
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

#endif
