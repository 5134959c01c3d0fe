/* Why devices were idle: what the host did during that time, and whether it had just waited for
 * them.
 *
 * A gap is a time in which no device works; it ends with some work. If that work was queued before
 * the gap began, the gap is the device's own. Otherwise the gap is the host's: up to the return of
 * the call that launched the work it is split by what the calling thread did (host_activity.h), and
 * the rest counts as launching, up to LAUNCH_LONG_DELAY_NS: work that begins later waits for
 * something else than its launch, and that rest is the device's own.
 *
 * A gap is drained if it began while the host waited for the device: the host had nothing queued,
 * so what it does until its next launch could have run during the wait. A replay says how much a
 * step would gain without the wait (replay.h); gaps do not.
 *
 * The window goes from the start of the first step to the end of the last step or of the last work.
 * It counts as one iteration of a loop, so the idle time before the first work and after the last
 * is one gap. If there are three steps or more and the host waits only after the last of them, it
 * waits because the recording ends. Both ends are then left out, and the window is the span of the
 * work, as it is without steps.
 *
 * If the host computes itself, no device can be idle, and every step is one gap. Without steps, it
 * is the time from the first to the last event of its loop. */
#pragma once

#include "harness/desk/analysis/host/host_activity.h"
#include "harness/desk/analysis/timeline/steps.h"

enum { IDLE_STEPS_LEAST = 3 }; /* a median of fewer means little */

struct idle_time {
    int64_t idle_ns;
    int64_t queued_ns;  /* the work was queued already */
    int64_t stalled_ns; /* its part in gaps of IDLE_DEVICE_WAIT_NS and more, or after a launch */
    int64_t unknown_ns; /* its call is not in the trace */
    int64_t free_ns[HOST_KIND_COUNT];    /* the host had not waited */
    int64_t drained_ns[HOST_KIND_COUNT]; /* it had */
    int64_t drained_count;
    int64_t longest_ns; /* gap */
};

struct idle {
    int64_t start_ns, end_ns; /* the window */
    int64_t busy_ns;
    struct idle_time all;
    struct idle_time *steps; /* as in struct steps; a gap belongs to the step that it begins in */
    double *loadings;        /* HOST_LOADING of every step, free and drained, ascending */

    /* Time of the host in the window, by its activity, from call to call, whether the device was
     * idle or not. */
    int64_t host_ns[HOST_KIND_COUNT];

    /* Free idle time that a typical step has while the host loads, works, copies, captures or
     * launches: the median, times the number of steps. If it is more than 0, the host sets the
     * pace: work that is taken from the host, anywhere in the step, saves as much of this time. 0
     * with fewer than IDLE_STEPS_LEAST steps. */
    double paced_ns;

    /* How much shorter gaps before queued work could be: what exceeds their median, which is taken
     * for the device's own pace, or half of their sum if that is more, because a graph halves them:
     * from 0.9 to 0.5 us in Gray, "Getting Started with CUDA Graphs" (NVIDIA, 2019), from 90 to 41
     * ns on the CPU device. Gaps within a graph do not count, nor do those of IDLE_DEVICE_WAIT_NS
     * and more. */
    int64_t late_ns;
};

int64_t idle_host_ns(const struct idle_time *time, enum host_kind activity); /* free and drained */

/* Causes of idle time, which sum to idle_ns: the device itself, a call that is not in the trace, or
 * the host, by what it did and whether or not it had waited. */
enum gap_cause {
    GAP_QUEUED,  /* queued_ns without stalled_ns */
    GAP_STALLED, /* stalled_ns */
    GAP_UNKNOWN,
    GAP_HOST, /* + enum host_kind */
    GAP_CAUSE_COUNT = GAP_HOST + HOST_KIND_COUNT
};

int64_t gap_cause_ns(const struct idle_time *time, int cause); /* enum gap_cause */
int gap_cause_longest(const struct idle_time *time);           /* the first of equals */
const char *gap_cause_name(int cause); /* "queued", and of the host those of host_kind_name() */

/* A gap, with its split. The window's ends, which idle_time counts as one gap, are two. */
struct idle_gap {
    int64_t start_ns, end_ns;
    const struct work *before, *after; /* the work at its ends; NULL: the window begins or ends */
    struct idle_time time;             /* of this gap alone */
};

typedef void idle_gap_visit(void *context, const struct idle_gap *gap);

/* Visits every gap that idle_of() counts, by time; but the end of the window comes before its
 * start. */
void idle_visit(struct arena *arena, const struct timeline *timeline, const struct steps *steps,
                const struct host_activity *activity, idle_gap_visit *visit, void *context);

struct idle idle_of(struct arena *arena, const struct timeline *timeline, const struct steps *steps,
                    const struct host_activity *activity);
