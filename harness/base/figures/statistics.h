/* Statistics of a few samples: what a median is worth, and when two sides differ.
 *
 * Samples of time are skewed and have outliers, so everything here is by order: medians,
 * percentiles and an interval of the median from the order statistics, which holds for any
 * distribution. A sample that is NaN was not measured: every figure of such a series is NaN and
 * every question about it is undecided. Infinite samples (a factor whose smaller side is 0) are
 * samples like others. */
#pragma once

#include <stdbool.h>

/* Series need not be sorted and are left as they are. All are NaN for an empty series. Median and
 * percentile sort a copy; if memory is out, they take longer. */
double stats_median(const double *values, int count); /* even count: the mean of the middle two */
double stats_mean(const double *values, int count);
double stats_deviation(const double *values, int count); /* n - 1; NaN for one sample */
double stats_cv(const double *values, int count);        /* deviation over mean */

/* The slope of the line of least squares through the values, over x, or over their numbers if that
 * is NULL; *explained: the part of their variance that the line takes away. 0 for one x. */
double stats_slope(const double *x, const double *values, int count, double *explained);

/* Whether a series grows steadily: its last quarter is half as large again as its first, or more,
 * and of four in five pairs the later value is the larger. *early and *late: the medians of these
 * quarters, also where it does not. Four values at least. */
bool stats_grows(const double *values, int count, double *early, double *late);

/* The variance of a median of n samples is pi/2 times that of their mean, for many normal ones. */
#define STATS_MEDIAN_VARIANCE 1.5707963267948966

/* `percent` is 0 to 100; between two samples it is linear (Hyndman and Fan's type 7: what numpy and
 * R do by default). */
double stats_percentile(const double *values, int count, double percent);

/* Ascending, in place. */
void stats_sort(double *values, int count);

/* The same figures of a series that is ascending, which need no memory. */
double stats_sorted_median(const double *ascending, int count);
double stats_sorted_percentile(const double *ascending, int count, double percent);
double stats_sort_median(double *values, int count); /* sorts it first */

/* Where most of a group lies and how far it spreads, whatever the few do that are odd: the median,
 * and the standard deviation that normal values of the same median absolute deviation have.
 * `values` become their distances from the median, ascending.
 *
 * Whoever looks for the odd one begins here: ranks, nodes and links of a job, machines of a fleet
 * that may be out, one run per side of a comparison, the pace of two traces. Each decides for
 * itself what counts as odd: fleet_noise.h and row_sides.h know the chance of a false alarm and
 * therefore use means and Student's t; job_causes.h and trace_change.h have a fixed number of
 * deviations or none; ranks.h asks who enters collectives last, which a median answers without a
 * spread. */
struct stats_bulk {
    double median, deviation;
};
struct stats_bulk stats_bulk(double *values, int count);
#define STATS_MAD_SCALE 1.4826 /* of normal values: standard deviation over that deviation */

/* An interval that holds the true median with probability `coverage`. */
struct confidence_interval {
    double low, high;
    double coverage;
};

/* The narrowest symmetric pair of ranks whose coverage is over 95%: [k-th smallest, k-th largest]
 * of n samples holds the median with probability 1 - 2 P(Binomial(n, 1/2) < k) (Conover, "Practical
 * Nonparametric Statistics", 3.2). Returns k >= 1; 0 when even the whole range holds it with less,
 * which is so below 6 samples. */
int stats_interval_rank(int count, double *coverage);

/* The interval of the median of these samples. Fewer than 6: the whole range with its coverage,
 * which is at most 94%; stats_interval_is_enough() tells. */
struct confidence_interval stats_median_interval(const double *values, int count);

/* The same if more samples were taken because fewer decided nothing: each look at the data is
 * another chance to be wrong. So the looks share the 5%: at `first` samples and after every `group`
 * more; each took what it needed, and the one at `count` has what is left (a union bound). All
 * looks together hold the median with `coverage`. */
int stats_looked_rank(int count, int first, int group, double *coverage);
struct confidence_interval stats_looked_interval(const double *values, int count, int first,
                                                 int group);
bool stats_interval_is_enough(const struct confidence_interval *interval);

/* factors[i] is larger[i] / smaller[i]: how much larger sample i of one side is. Two zeros are
 * equal (1); over 0 it is infinite. Negative samples have no factor (NaN). */
void stats_paired_factors(const double *larger, const double *smaller, int count, double *factors);

/* The rule for a factor and its interval. "Different" needs the whole interval beyond the least
 * effect, "no difference" needs it inside 1/least .. least; else it is undecided, as it is when the
 * interval holds the median with 95% or less. */
enum change { CHANGE_UNDECIDED, CHANGE_NONE, CHANGE_LARGER, CHANGE_SMALLER };
enum change stats_change(const struct confidence_interval *interval, double least);

enum { LEAST_EFFECT_PERCENT = 5 }; /* where nothing else is stated */
