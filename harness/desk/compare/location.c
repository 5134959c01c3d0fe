/* Works on the sorted logarithms of a run's values; where the largest is the best, they change
 * their sign before and after. */
#include "harness/desk/compare/location.h"

#include "harness/base/figures/statistics.h"
#include "harness/base/figures/student.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The place-th smallest, counted from 1; between two it is linear. */
static double at_place(const double *sorted, int count, double place)
{
    int below = (int)place;

    if (below >= count)
        return sorted[count - 1];
    return sorted[below - 1] + (place - below) * (sorted[below] - sorted[below - 1]);
}

/* The variance of the sample at `place` if as many are drawn from these again: sample i is there
 * with the probability that a beta variable is between (i - 1) / count and i / count. */
static double variance_at(const double *sorted, int count, double place)
{
    double before = 0, mean = 0, squares = 0;

    for (int i = 0; i < count; i++) {
        double upto =
            student_beta(place, count + 1 - place, (i + 1.0) / count, (count - i - 1.0) / count);
        double distance = sorted[i] - sorted[0];
        mean += (upto - before) * distance;
        squares += (upto - before) * distance * distance;
        before = upto;
    }
    return fmax(0, squares - mean * mean);
}

struct location location_of(const struct benchmark_row *run, int fewest, bool largest,
                            bool with_variance)
{
    struct location location = { NAN, NAN };
    double place = (run->count + 1.0) / (fewest + 1.0), *logs;

    if (run->count == 0) { /* Its file states aggregates only. */
        location.log = log(run->median);
        if (run->repetitions > 1)
            location.variance =
                STATS_MEDIAN_VARIANCE * run->deviation * run->deviation / run->repetitions;
        return location;
    }
    logs = malloc((size_t)run->count * sizeof *logs);
    if (logs == NULL)
        return location;
    for (int i = 0; i < run->count; i++)
        logs[i] = largest ? -log(run->values[i]) : log(run->values[i]);
    stats_sort(logs, run->count);
    location.log = at_place(logs, run->count, place);
    if (largest)
        location.log = -location.log;
    if (run->count > 1 && with_variance)
        location.variance = variance_at(logs, run->count, place);
    free(logs);
    return location;
}
