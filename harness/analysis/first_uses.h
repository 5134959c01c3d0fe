/* What happens once: kernels whose first launch takes a long call, since a module is loaded or compiled for
 * it.
 *
 * What the operator around such a call did before it goes with it, unless that operator had launched: it
 * too is looking for a kernel, or compiling one. */
#ifndef HARNESS_ANALYSIS_FIRST_USES_H
#define HARNESS_ANALYSIS_FIRST_USES_H

#include "harness/analysis/intervals.h"
#include "harness/analysis/timeline.h"

enum { FIRST_USE_LONG_NS = 1000000 }; /* twenty times a long call (LAUNCH_LONG_CALL_NS) */

struct first_uses {
    int64_t count;
    const struct trace_event *call, *kernel; /* of the longest call; NULL: none */
    struct intervals idle; /* no device worked while they took their time; merged */
};

/* OUT_OF_MEMORY. Release in every case. */
enum status first_uses_make(struct first_uses *uses, const struct timeline *timeline);
void first_uses_release(struct first_uses *uses);

#endif
