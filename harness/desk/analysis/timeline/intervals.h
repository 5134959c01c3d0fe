/* Intervals of time as a set: their union, and how much of a given time it covers.
 *
 * A list is merged when it is sorted and its intervals neither touch nor overlap; questions are put
 * to merged lists. An interval contains its start and not its end. */
#pragma once

#include "harness/base/system/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct interval {
    int64_t start_ns, end_ns;
};

static inline int64_t interval_later(int64_t a_ns, int64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

static inline int64_t interval_earlier(int64_t a_ns, int64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

/* Start with zeros and `arena` set. */
struct intervals {
    struct arena *arena;
    struct interval *items;
    int64_t count, room;
};

/* Appends an interval, or widens the last one if they touch; an empty one is left out. */
void intervals_add(struct intervals *intervals, int64_t start_ns, int64_t end_ns);

/* Makes the list merged. */
void intervals_merge(struct intervals *intervals);

/* Adds to `rest` what is in `all` and not in `taken`, both merged. */
void intervals_without(struct intervals *rest, const struct intervals *all,
                       const struct intervals *taken);

/* The first that ends after a moment; `count`: none. */
int64_t intervals_after(const struct intervals *intervals, int64_t at_ns);

/* How much of the time between two moments a merged list covers, by bisection; whether it covers a
 * moment. */
int64_t intervals_within_ns(const struct intervals *intervals, int64_t start_ns, int64_t end_ns);
bool intervals_contain(const struct intervals *intervals, int64_t at_ns);

/* a + b, or the largest number there is: sums over broken traces stay defined. Both are at least
 * 0. */
int64_t intervals_sum_ns(int64_t a, int64_t b);
