/* Order statistics of samples: a copy is sorted, and percentiles and intervals are places in it. A
 * sample that is NaN makes the answer NaN, never an order by chance. */
#include "harness/base/figures/statistics.h"

#include "harness/base/sort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WANTED_COVERAGE 0.95

COMPARATOR(by_value, double, COMPARE(*a, *b))

void stats_sort(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
}

/* NaN has no place in an order. */
static bool have_order(const double *values, int count)
{
    for (int i = 0; i < count; i++)
        if (isnan(values[i]))
            return false;
    return count > 0;
}

/* A sorted copy for the caller to free. NULL: no memory is left, and at_rank() does without. */
static double *sorted(const double *values, int count)
{
    double *copy = malloc((size_t)count * sizeof *copy);

    if (copy != NULL) {
        memcpy(copy, values, (size_t)count * sizeof *copy);
        stats_sort(copy, count);
    }
    return copy;
}

/* The value that so many are below; `order` has the values sorted, or is NULL. */
static double at_rank(const double *values, const double *order, int count, int rank)
{
    for (int i = 0; order == NULL && i < count; i++) {
        int below = 0, equal = 0;
        for (int j = 0; j < count; j++) {
            below += values[j] < values[i];
            equal += values[j] == values[i];
        }
        if (below <= rank && rank < below + equal)
            return values[i];
    }
    return order[rank];
}

static double percentile(const double *values, const double *order, int count, double percent)
{
    double place = percent / 100 * (count - 1), share, low, high;
    int below = (int)place;

    if (!have_order(values, count) || !(place >= 0 && place <= count - 1))
        return NAN;
    share = place - below;
    low = at_rank(values, order, count, below);
    if (!(share > 0))
        return low;
    high = at_rank(values, order, count, below + 1);
    /* Two infinite neighbours have no difference to interpolate along. */
    return low == high ? low : low + (high - low) * share;
}

double stats_sorted_percentile(const double *ascending, int count, double percent)
{
    return percentile(ascending, ascending, count, percent);
}

double stats_sorted_median(const double *ascending, int count)
{
    return stats_sorted_percentile(ascending, count, 50);
}

double stats_sort_median(double *values, int count)
{
    stats_sort(values, count);
    return stats_sorted_median(values, count);
}

struct stats_bulk stats_bulk(double *values, int count)
{
    struct stats_bulk bulk = { .median = stats_sort_median(values, count) };

    for (int i = 0; i < count; i++) values[i] = fabs(values[i] - bulk.median);
    bulk.deviation = STATS_MAD_SCALE * stats_sort_median(values, count);
    return bulk;
}

double stats_percentile(const double *values, int count, double percent)
{
    double *order = have_order(values, count) ? sorted(values, count) : NULL;
    double result = percentile(values, order, count, percent);

    free(order);
    return result;
}

double stats_median(const double *values, int count)
{
    return stats_percentile(values, count, 50);
}

double stats_mean(const double *values, int count)
{
    double sum = 0;

    for (int i = 0; i < count; i++) sum += values[i];
    return count > 0 ? sum / count : NAN;
}

double stats_deviation(const double *values, int count)
{
    double mean = stats_mean(values, count), squares = 0;

    for (int i = 0; i < count; i++) squares += (values[i] - mean) * (values[i] - mean);
    return count > 1 ? sqrt(squares / (count - 1)) : NAN;
}

double stats_cv(const double *values, int count)
{
    return stats_deviation(values, count) / stats_mean(values, count);
}

double stats_slope(const double *x, const double *values, int count, double *explained)
{
    double mean = stats_mean(values, count), mean_x = 0, xx = 0, xy = 0, yy = 0;

    for (int i = 0; i < count; i++) mean_x += (x != NULL ? x[i] : i) / count;
    for (int i = 0; i < count; i++) {
        double from = (x != NULL ? x[i] : i) - mean_x;
        xx += from * from;
        xy += from * (values[i] - mean);
        yy += (values[i] - mean) * (values[i] - mean);
    }
    *explained = xx > 0 && yy > 0 ? xy * xy / (xx * yy) : 0;
    return xx > 0 ? xy / xx : 0;
}

bool stats_grows(const double *values, int count, double *early, double *late)
{
    const double growth_least = 1.5, rising_least = 0.8;
    int quarter = count / 4;
    int64_t rising = 0, pairs = 0;

    *early = stats_median(values, quarter);
    *late = stats_median(values + count - quarter, quarter);
    if (!(*late >= growth_least * *early))
        return false;
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++, pairs++) rising += values[j] > values[i];
    return (double)rising >= rising_least * (double)pairs;
}

/* P(Binomial(n, 1/2) = k), by logarithms so that large n does not underflow. */
static double binomial_half(int n, int k)
{
    return exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) - n * log(2));
}

/* The narrowest symmetric ranks that leave out less than `budget`, and what they leave out: rank k
 * + 1 leaves out P(Binomial < k + 1) on either side. 0: even the whole range leaves out too
 * much. */
static int rank_within(int count, double budget, double *left_out)
{
    double below = 0;
    int rank = 0;

    *left_out = 0;
    while (2 * (rank + 1) <= count) {
        below += binomial_half(count, rank);
        if (!(2 * below < budget))
            break;
        *left_out = 2 * below;
        rank++;
    }
    return rank;
}

int stats_interval_rank(int count, double *coverage)
{
    return stats_looked_rank(count, count, 1, coverage);
}

int stats_looked_rank(int count, int first, int group, double *coverage)
{
    double budget = 1 - WANTED_COVERAGE, left_out;
    int looked = first < count ? first : count, rank;

    for (;;) {
        rank = rank_within(looked, budget, &left_out);
        budget -= left_out;
        if (looked == count)
            break;
        looked = looked + group < count ? looked + group : count;
    }
    *coverage = rank > 0 ? WANTED_COVERAGE + budget : 0;
    return rank;
}

struct confidence_interval stats_median_interval(const double *values, int count)
{
    return stats_looked_interval(values, count, count, 1);
}

struct confidence_interval stats_looked_interval(const double *values, int count, int first,
                                                 int group)
{
    struct confidence_interval interval = { NAN, NAN, 0 };
    double *order;
    int rank;

    if (!have_order(values, count))
        return interval;
    order = sorted(values, count);
    rank = stats_looked_rank(count, first, group, &interval.coverage);
    if (rank == 0) {
        rank = 1;
        interval.coverage = 1 - 2 * binomial_half(count, 0);
    }
    interval.low = at_rank(values, order, count, rank - 1);
    interval.high = at_rank(values, order, count, count - rank);
    free(order);
    return interval;
}

bool stats_interval_is_enough(const struct confidence_interval *interval)
{
    return interval->coverage > WANTED_COVERAGE && interval->low <= interval->high;
}

void stats_paired_factors(const double *larger, const double *smaller, int count, double *factors)
{
    for (int i = 0; i < count; i++) {
        if (!(larger[i] >= 0 && smaller[i] >= 0))
            factors[i] = NAN;
        else if (larger[i] == smaller[i])
            factors[i] = 1;
        else
            factors[i] = smaller[i] > 0 ? larger[i] / smaller[i] : INFINITY;
    }
}

enum change stats_change(const struct confidence_interval *interval, double least)
{
    if (!stats_interval_is_enough(interval))
        return CHANGE_UNDECIDED;
    if (interval->low > least)
        return CHANGE_LARGER;
    if (interval->high < 1 / least)
        return CHANGE_SMALLER;
    return interval->low >= 1 / least && interval->high <= least ? CHANGE_NONE : CHANGE_UNDECIDED;
}
