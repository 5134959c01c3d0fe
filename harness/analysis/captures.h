/* The times in which threads captured graphs.
 *
 * Launches within a capture go into the graph and are not done. Captures hold for launches of all threads:
 * PyTorch launches the backward pass from a thread of its own, and that goes into the graph as well. */
#ifndef HARNESS_ANALYSIS_CAPTURES_H
#define HARNESS_ANALYSIS_CAPTURES_H

#include "harness/analysis/intervals.h"
#include "harness/analysis/timeline.h"

struct captures {
    int64_t count;          /* begun and ended in the trace, by the same thread */
    struct intervals times; /* from the call that begins to the end of the one that ends; merged */
    struct intervals
        idle; /* the part of these times, and of instantiating, in which no device worked; merged */
};

/* OUT_OF_MEMORY. Release in every case. */
enum status captures_make(struct captures *captures, const struct timeline *timeline);
void captures_release(struct captures *captures);

#endif
