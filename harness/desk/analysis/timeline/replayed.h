/* The operators and phases that launches of captured graphs run: annotations of a stream that name
 * a launch as their cause, which our own traces have (kineto.c). The host calls none of them. */
#ifndef HARNESS_DESK_ANALYSIS_TIMELINE_REPLAYED_H
#define HARNESS_DESK_ANALYSIS_TIMELINE_REPLAYED_H

#include "harness/desk/analysis/timeline/timeline.h"

struct replayed_span {
    const struct trace_event *event;
    bool is_phase;
    int64_t total_ns,
        self_ns;    /* of the launch's work in it, and of that which no other is around */
    int64_t parent; /* the span of the same launch around it; -1: none */
};

struct replayed {
    struct replayed_span *items; /* by stream and start, the outer first */
    int64_t count;
    int64_t *work_ns; /* by event: of a launch, the work that is in any of them; NULL where there
                         are none */
};

struct replayed replayed_of(struct arena *arena, const struct timeline *timeline);

/* The innermost operator or phase that a work is in; NULL: none. */
const struct replayed_span *replayed_find(const struct replayed *replayed, const struct work *work);

#endif
