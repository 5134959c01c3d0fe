/* Work that repeats: the steps of a trace that has neither marks nor regions nor an optimizer's
 * calls.
 *
 * A loop gives its device the same work again and again. In the order of launches, the rarest name
 * of work between whose occurrences the same work comes is an anchor, and a step is the time from
 * one launch of it to the next. Two pieces are the same if WORK_ALIKE of their work has the same
 * names; WORK_PIECES of the pieces must be so, with WORK_SHARE of all work and of the recording in
 * them.
 *
 * Layers repeat too, within one step. An iteration differs from a layer in that host and device
 * meet: by a copy between them, or a wait. */
#pragma once

#include "harness/desk/analysis/timeline/steps.h"

enum { WORK_REPEATS_LEAST = 5 }; /* pieces: fewer may look alike by chance */

#define WORK_ALIKE  0.9
#define WORK_PIECES 0.8
#define WORK_SHARE  0.6

/* Steps without a mark (steps.h), whose `anchor` is the name of that work; none if no work repeats
 * so. */
struct steps repeated_work_of(struct arena *arena, const struct timeline *timeline);

/* --- Regions that repeat --- */

/* Regions that repeat: the steps of a trace that marks none.
 *
 * Programs put annotations around an iteration by names of their own: "timed region", "train_step
 * 12". Such regions are steps if there are REGIONS_LEAST of them or more on a thread, of one name
 * but for its digits, none within another, that fill REGIONS_SHARE of the recording. Those of an
 * engine that serves requests are steps however little they fill: it waits for requests.
 * Annotations that have a meaning of their own (loading, phases, saves) are parts of steps. */

enum { REGIONS_LEAST = 3 }; /* twice may be chance */

#define REGIONS_SHARE 0.6 /* most of the time: less may be a part of each step */

/* Steps without a mark (steps.h), whose `region` is the name of the first; none if no regions
 * repeat so. */
struct steps repeated_regions_of(struct arena *arena, const struct timeline *timeline);
