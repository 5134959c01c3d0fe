/* One-time initialisation: kernels whose first launch takes a long call, because a module is loaded or
 * compiled for it.
 *
 * The time that the operator around such a call spent before it counts too, unless the operator had
 * launched something else: it was looking for the kernel, or compiling it. */
#ifndef HARNESS_ANALYSIS_FIRST_USES_H
#define HARNESS_ANALYSIS_FIRST_USES_H

#include "harness/analysis/intervals.h"
#include "harness/analysis/timeline.h"

enum { FIRST_USE_LONG_NS = 1000000 }; /* twenty times a long call (LAUNCH_LONG_CALL_NS) */

struct first_uses {
    int64_t count;
    const struct trace_event *call, *kernel; /* of the longest call; NULL: none */
    struct intervals idle; /* the part of that time in which no device worked; merged */
};

/* OUT_OF_MEMORY. Release in every case. */
enum status first_uses_make(struct first_uses *uses, const struct timeline *timeline);
void first_uses_release(struct first_uses *uses);

#endif
