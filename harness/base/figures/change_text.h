/* A measured change in words, the same in every command: "1.42x faster" for a time, "down 20.0x"
 * for anything else, "no change" where the measurement tells none. */
#pragma once

#include "harness/base/figures/quantity.h"

#include <stdbool.h>

/* A value before and after, and how many times as much it was before as after, with the
 * interval of that factor. */
struct change_figures {
    double before, after;
    double factor, low, high;
    double coverage; /* of [low, high], as in struct confidence_interval */
};

struct change_text {
    char effect[2 * QUANTITY_SIZE];       /* "1.42x faster", "none left", "no change" */
    char interval[2 * QUANTITY_SIZE + 8]; /* "1.37 to 1.45", "exact", "within 1.07x" */
};

/* The interval is in the direction of the effect. Where it holds 1, so that the change may go
 * either way, it becomes its farther end: "within 1.07x". The effect then is "no change" if the
 * factor is within LEAST_EFFECT_PERCENT, and "unclear" otherwise. It is "unclear" too if the
 * factor, which comes from pairs, and the two values disagree about the direction. From 1000x on it
 * is "almost none left" or "almost none before", without an interval. Too few pairs for 95%:
 * "all 1.3 to 1.5", "all within 1.07x", or "one pair". */
struct change_text change_text(const struct change_figures *change, bool is_time);

/* A change of that size in that direction: "1.42x faster", "down 20.0x". `bound` ("at least ", "")
 * goes before the factor; an empty factor leaves "faster", "down". */
void change_words(char *text, size_t size, bool is_time, bool shrinks, const char *bound,
                  const char *factor);
