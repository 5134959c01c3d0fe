/* A distance is a logarithm of a factor, so that "twice as far" means the same on either side of a
 * bound, and noise of some percent is as large everywhere. */
#include "harness/lab/experiment/child/resolution.h"

#include "harness/base/figures/statistics.h"

#include <math.h>

/* The shortest windows tell factors of 1.2 and more apart. Unless steps are long these have four
 * slices, and the ratio of the same steps to themselves then has a standard deviation of 2% to 4%
 * on a busy machine of two cores (window.h): a fifth of this distance. */
#define EASY 0.2

/* NaN where the metric is not known. */
static double distance(double value, double bound)
{
    if (bound > 0)
        return fabs(log(value / bound));
    return INFINITY;
}

static double margin_of(const struct expectation *expectation,
                        double metric[VARIANT_COUNT][METRIC_COUNT])
{
    double before = metric[VARIANT_BEFORE][expectation->metric];
    double after = metric[VARIANT_AFTER][expectation->metric];
    double larger = expectation->direction == SHRINKS ? before : after;
    double smaller = expectation->direction == SHRINKS ? after : before;
    double factor = larger == smaller ? 1 : larger / smaller;
    const double margins[] = {
        distance(factor, expectation_least(expectation)),
        distance(factor, expectation->at_most),
        distance(before, expectation->before_above),
        distance(after, expectation->after_below),
    };
    double margin = INFINITY;

    for (size_t i = 0; i < ARRAY_SIZE(margins); i++)
        if (!(margins[i] >= margin)) /* also if it is NaN */
            margin = margins[i];
    return margin;
}

double resolution_margin(const struct scenario *scenario, bool aa,
                         const struct device_properties *device,
                         double metric[VARIANT_COUNT][METRIC_COUNT])
{
    double margin = aa ? log(1 + LEAST_EFFECT_PERCENT / 100.0) : INFINITY;

    for (const struct expectation *e = scenario->expect;
         !aa && e < scenario->expect + SCENARIO_EXPECTATIONS && !expectation_is_end(e); e++) {
        double here = e->exact || !where_holds(e->where, device) ? INFINITY : margin_of(e, metric);
        if (isnan(here))
            return 0;
        margin = fmin(margin, here);
    }
    return margin;
}

double resolution_seconds(double shortest, double longest, double margin)
{
    if (!(shortest > 0 && shortest < longest))
        return longest;
    return fmax(shortest, fmin(longest, shortest * pow(EASY / margin, 2)));
}
