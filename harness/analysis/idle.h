/* Why devices were idle: what the host did meanwhile, and whether it had just waited for them.
 *
 * A gap is a stretch in which no device works. It ends with work that was queued before it began (then
 * the gap is the device's own), or whose call had not returned: then it is the host's, up to that call's
 * return, and is split by what the calling thread did (host_activity.h); what follows until the work
 * begins counts as launching.
 *
 * A gap is drained when the host was waiting for the device as it began: the host had queued nothing more,
 * because it waited. What it does from the end of its wait to its next launch could have been done while
 * the device worked on what came before, at most for as long as that was: `hidable`. The rest could not.
 *
 * The window goes from the first step's start to the last step's end or that of the last work, and counts
 * as one turn of a loop: the idle time before the first work goes with that after the last. Where the host
 * waits at the end only after the last of three steps or more, it waits because the recording ends, and both
 * are left out: the window is then, as without steps, the span of the work.
 *
 * Where the host computes itself there is no device to be busy, and every step is one gap. */
#ifndef HARNESS_ANALYSIS_IDLE_H
#define HARNESS_ANALYSIS_IDLE_H

#include "harness/analysis/host_activity.h"
#include "harness/analysis/steps.h"

struct idle_time {
    int64_t idle_ns;
    int64_t queued_ns;                    /* the work was queued already */
    int64_t stalled_ns;                   /* its part in gaps of IDLE_DEVICE_WAIT_NS and more */
    int64_t unknown_ns;                   /* its call is not in the trace */
    int64_t free_ns[HOST_DOING_COUNT];    /* the host had not waited */
    int64_t drained_ns[HOST_DOING_COUNT]; /* it had */
    int64_t hidable_ns;                   /* of drained_ns, without HOST_WAITING */
    int64_t hidable_loading_ns;           /* its part that is HOST_LOADING */
    int64_t drained_count;
    int64_t longest_ns; /* gap */
};

struct idle {
    int64_t start_ns, end_ns; /* the window */
    int64_t busy_ns;
    struct idle_time all;
    struct idle_time *steps; /* as in struct steps; a gap belongs to the step that it begins in */
    double *loadings;        /* HOST_LOADING of every step, free and drained, ascending */

    /* Of the gaps before queued work that are shorter than that: what exceeds their median, which is
     * taken for the device's own pace, or half of them if that is more, since a graph halves them: from
     * 0.9 to 0.5 us in Gray, "Getting Started with CUDA Graphs" (NVIDIA, 2019), from 90 to 41 ns on the
     * CPU device. Work of one graph launch does not count. */
    int64_t late_ns;
};

/* OUT_OF_MEMORY. Release in every case. */
enum status idle_make(struct idle *idle, const struct timeline *timeline, const struct steps *steps,
                      const struct host_activity *activity);
void idle_release(struct idle *idle);

#endif
