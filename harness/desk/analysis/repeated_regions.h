/* Regions that repeat: the steps of a trace that marks none.
 *
 * Programs put annotations around an iteration by names of their own: "timed region", "train_step
 * 12". Such regions are steps if there are REGIONS_LEAST of them or more on a thread, of one name
 * but for its digits, none within another, that fill REGIONS_SHARE of the recording. Annotations
 * that have a meaning of their own (loading, phases, saves) are parts of steps. */
#ifndef HARNESS_DESK_ANALYSIS_REPEATED_REGIONS_H
#define HARNESS_DESK_ANALYSIS_REPEATED_REGIONS_H

#include "harness/desk/analysis/timeline/steps.h"

enum { REGIONS_LEAST = 3 }; /* twice may be chance */

#define REGIONS_SHARE 0.6 /* most of the time: less may be a part of each step */

/* Steps without a mark (steps.h), whose `region` is the name of the first; none if no regions
 * repeat so. */
struct steps repeated_regions_of(struct arena *arena, const struct timeline *timeline);

#endif
