/* Finds the place in the program that a cost comes from.
 *
 * A cost is time of the loop's thread, or a sum that belongs to such time, such as the idle time
 * after a wait. It is divided among places. Time in a call that is nearly all cost belongs to that
 * function as a whole, the outermost such; of any other call, it belongs to the line of the user's
 * own code that it is under. The place with the most is named; if it is a function most of whose
 * cost comes from one of its lines, that line. In what the user's line calls, the same search finds
 * a place in a library; it stands alone if the cost is under no line of the user's. */
#pragma once

#include "harness/desk/analysis/host/call_place.h"
#include "harness/desk/analysis/host/call_tree.h"

/* A call of which a smaller share is the cost does other things as well. */
#define CALL_SITE_PURE 0.9

/* A part that has this share of the cost of a function stands for it: four fifths, as in Pareto's
 * rule. */
#define CALL_SITE_MOST 0.8

/* The user's code that a library calls back is the place if it has more than this share of the
 * library's cost: no other code has as much. */
#define CALL_SITE_CALLED_BACK 0.5

/* A place with less of the cost explains nothing. */
#define CALL_SITE_LEAST 0.1

struct costly_time {
    int64_t start_ns, end_ns;
    double cost_ns; /* of all of it */
};

/* Start with zeros and `arena` set. */
struct costly_times {
    struct arena *arena;
    struct costly_time *items;
    int64_t count, room;
};

/* Empty times are left out. */
void costly_times_add(struct costly_times *times, int64_t start_ns, int64_t end_ns, double cost_ns);

/* `times` do not overlap; they are sorted by this. Where no place has CALL_SITE_LEAST of the cost,
 * it is of kind PLACE_UNKNOWN. *library is the place in what it calls, of that kind if there is
 * none. */
struct call_place call_site_of(const struct call_tree *tree, struct costly_times *times,
                               struct call_place *library);
