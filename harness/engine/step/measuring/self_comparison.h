/* A/A within a loop: its steps are compared with themselves, as if every other one had another
 * setting. There is no difference, so every one that is called is false. */
#pragma once

#include "harness/engine/settings/config.h"

/* The share of the comparisons that `count` steps in a row allow in which a difference of over 1%
 * is called: of one step with the next, or of 10 pairs, whose sides take turns in coming first, by
 * the interval of their median ratio. NaN: they are too few for one, or none is asked for. */
double self_comparison_false_calls(enum self_comparison how, const double *step_ns, int count);
