/* The knee of a sweep: the cheapest value that is enough.
 *
 * Every value was measured once in each round. A value's share is its throughput over that of the
 * best value in the same round, so that drift of the machine falls on both. The best value has the
 * highest median throughput. A value is enough if the median of its shares is at least 1 -
 * KNEE_LOSS_PERCENT / 100; the knee is the cheapest of those. */
#pragma once

#include "harness/base/figures/statistics.h"

#include <stdbool.h>

enum { KNEE_LOSS_PERCENT = LEAST_EFFECT_PERCENT };

struct knee_value {
    const double *throughput; /* [rounds], borrowed; round i of all values ran one after another */
    int rounds;               /* finished; 0: the value takes no part */
    int cost;                 /* the lowest is the cheapest; of equals, the first one is */
};

struct knee {
    int best, enough; /* indices; they may be the same; -1: nothing was measured */
    double share;     /* of `enough`: the median */
    struct confidence_interval interval; /* of it; fewer than 6 rounds: the whole range */
    int rounds;                          /* that both of them have */
    /* The interval is above the bound, those of all cheaper values are below it, and no other value
     * may be better than the best by as much; of one round: false. */
    bool is_clear;
    bool is_best; /* `enough` is better than all others in every round that counts */
};

struct knee knee_find(const struct knee_value *values, int count);
