/* Stretches of time as sets: union, intersection, difference, and how long they are.
 *
 * A list is merged when it is sorted and its intervals neither touch nor overlap; the set functions take
 * merged lists and give merged ones. An interval contains its start and not its end. */
#ifndef HARNESS_ANALYSIS_INTERVALS_H
#define HARNESS_ANALYSIS_INTERVALS_H

#include "harness/status/status.h"

#include <stdbool.h>
#include <stdint.h>

struct interval {
    int64_t start_ns, end_ns;
};

/* Start with zeros. */
struct intervals {
    struct interval *items;
    int64_t count, room;
};

void intervals_release(struct intervals *intervals);

/* Appends; what is empty is left out. OUT_OF_MEMORY, as from all that return a status here. */
enum status intervals_add(struct intervals *intervals, int64_t start_ns, int64_t end_ns);

/* Makes the list merged. */
void intervals_merge(struct intervals *intervals);

/* `result` is replaced; it must be neither of the two. */
enum status intervals_intersect(struct intervals *result, const struct intervals *a,
                                const struct intervals *b);
enum status intervals_subtract(struct intervals *result, const struct intervals *from,
                               const struct intervals *taken);

/* Of a merged list. */
int64_t intervals_length_ns(const struct intervals *intervals);

/* How long both merged lists hold. */
int64_t intervals_overlap_ns(const struct intervals *a, const struct intervals *b);

/* How long a merged list holds between two moments, found by bisection; whether it holds at one. */
int64_t intervals_within_ns(const struct intervals *intervals, int64_t start_ns, int64_t end_ns);
bool intervals_contain(const struct intervals *intervals, int64_t at_ns);

/* a + b, or the largest number there is: sums over broken traces stay defined. Both are at least 0. */
int64_t ns_sum(int64_t a, int64_t b);

#endif
