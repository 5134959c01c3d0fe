/* How often a loop would call a difference between steps that have none. Each comparison takes its
 * steps from the row in which they ran, as one of two programs would be measured against the other,
 * and asks statistics.h whether they differ. */
#include "harness/engine/step/measuring/self_comparison.h"

#include "harness/base/figures/statistics.h"

#include <math.h>

enum {
    PAIRS = 10
}; /* their interval is from the second smallest ratio to the second largest: 97.9% */

#define CALL_LEAST 1.01

double self_comparison_false_calls(enum self_comparison how, const double *step_ns, int count)
{
    const int pairs = how == SELF_COMPARISON_PAIRS ? PAIRS : 1, comparisons = count / (2 * pairs);
    double ratios[PAIRS];
    int called = 0;

    if (how == SELF_COMPARISON_NONE)
        return NAN;
    for (int c = 0; c < comparisons; c++, step_ns += 2 * pairs) {
        for (int i = 0; i < pairs; i++) {
            const double *pair_ns = step_ns + 2 * i;
            bool turned = (c + i) % 2 == 1; /* in every other pair the second side came first */
            stats_paired_factors(&pair_ns[turned], &pair_ns[!turned], 1, &ratios[i]);
        }
        /* One step beside another has no interval: the ratio itself decides. */
        struct confidence_interval interval = { ratios[0], ratios[0], 1 };
        enum change change;
        if (pairs > 1)
            interval = stats_median_interval(ratios, pairs);
        change = stats_change(&interval, CALL_LEAST);
        called += change == CHANGE_LARGER || change == CHANGE_SMALLER;
    }
    return comparisons > 0 ? (double)called / comparisons : NAN;
}
