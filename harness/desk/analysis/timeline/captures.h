/* The times in which threads captured graphs.
 *
 * A capture takes all of the operator around it, as torch.compile has one: before it begins,
 * PyTorch waits for the device, collects garbage and empties its cache (torch.cuda.graph), which
 * has no rows and may take longer.
 *
 * Launches within a capture go into the graph and are not done. Captures hold for launches of all
 * threads: PyTorch launches the backward pass from a thread of its own, and that goes into the
 * graph as well. */
#pragma once

#include "harness/desk/analysis/timeline/intervals.h"
#include "harness/desk/analysis/timeline/steps.h"
#include "harness/desk/analysis/timeline/timeline.h"

struct captures {
    int64_t count; /* begun and ended in the trace, by the same thread; or a graph is made in an
                    * operator, and the trace has no row of its capture */
    int64_t instantiated;   /* calls that make a graph of one */
    struct intervals times; /* from the call that begins to the end of the one that ends; merged */
    struct intervals taken; /* these times, those of instantiating, and operators around; merged */
    struct intervals idle;  /* the part of `taken` in which no device worked; merged */

    /* Every program that launches graphs captures some. This one is not done with it after a
     * warm-up: there is one in every fifth step or more, and there are CAPTURES_REPEAT or more, or
     * CAPTURES_ANEW with a step between them that has none. */
    bool again;
};

enum {
    CAPTURES_REPEAT = 8, /* fewer, one after the other, may be a warm-up of as many shapes */
    CAPTURES_ANEW = 3,   /* twice may be chance */
};

/* How many steps have some of these times in them, and whether there is a step without between two
 * of them: what was made did not fit later. */
int64_t steps_that_have(const struct intervals *times, const struct steps *steps, bool *again);

struct captures captures_of(struct arena *arena, const struct timeline *timeline,
                            const struct steps *steps);

/* --- What launches of graphs run --- */

/* The operators and phases that launches of captured graphs run: annotations of a stream that name
 * a launch as their cause, which our own traces have (kineto.c). The host calls none of them. */

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
