/* Finds the place in the program that a cost comes from.
 *
 * A cost is time of the loop's thread, or a sum that belongs to such time, such as the idle time after a wait. It is
 * divided among places. Time in a call that is nearly all cost belongs to that function as a whole, the outermost
 * such; of any other call, it belongs to the line of the user's own code that it is under. The place with the most
 * is named; if it is a function most of whose cost comes from one of its lines, that line. */
#ifndef HARNESS_DESK_ANALYSIS_HOST_CALL_SITES_H
#define HARNESS_DESK_ANALYSIS_HOST_CALL_SITES_H

#include "harness/desk/analysis/host/call_place.h"
#include "harness/desk/analysis/host/call_tree.h"

/* A call of which a smaller share is the cost does other things as well. */
#define CALL_SITE_PURE 0.9

/* A part that has this share of the cost of a function stands for it: four fifths, as in Pareto's rule. */
#define CALL_SITE_MOST 0.8

/* A place with less of the cost explains nothing. */
#define CALL_SITE_LEAST 0.1

struct costly_time {
    int64_t start_ns, end_ns;
    double cost_ns; /* of all of it */
};

/* Start with zeros. */
struct costly_times {
    struct costly_time *items;
    int64_t count, room;
};

/* Room for as many in all, which costs nothing until it is used, where many will be added. OUT_OF_MEMORY. */
enum status costly_times_make_room(struct costly_times *times, int64_t room);

/* Empty times are left out. OUT_OF_MEMORY. */
enum status costly_times_add(struct costly_times *times, int64_t start_ns, int64_t end_ns,
                             double cost_ns);
void costly_times_release(struct costly_times *times);

/* `times` do not overlap; they are sorted by this. Where no place has CALL_SITE_LEAST of the cost, `place` is of
 * kind PLACE_UNKNOWN. OUT_OF_MEMORY. */
enum status call_sites_find(struct call_place *place, const struct call_tree *tree,
                            struct costly_times *times);

#endif
