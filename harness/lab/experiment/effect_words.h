/* Effects and what is expected of them in words, the same in tables, reasons and `explain`. */
#pragma once

#include "harness/base/figures/change_text.h"
#include "harness/lab/experiment/result.h"

/* `direction` is the one that the effect's factor was computed in. */
struct change_text effect_words(const struct effect *effect, enum metric metric,
                                enum direction direction);

/* "at least 1.25x faster", "down 2x to 4x"; 0: no bound, and "faster" or "down" without any. */
void effect_bounds(char *text, size_t size, enum metric metric, enum direction direction,
                   double least, double most);
