/* A run's location: the one number that its repetitions are taken for.
 *
 * It is the best of them: what disturbs a repetition only adds time, and adds another amount in
 * each run, so the smallest is what differs least between runs of the same program (Chen and
 * Revels, "Robust benchmarking in noisy environments", 2016). A repetition is a mean of many
 * iterations, so what belongs to an iteration now and then is in it.
 *
 * The smallest of more repetitions is smaller, so all runs of a row are asked for the same
 * quantile: the one that the smallest is in the run with the fewest, the 1 / (fewest + 1)-th
 * (Hyndman and Fan, "Sample quantiles in statistical packages", 1996, type 6). Where a run has one
 * number only, because there was one repetition or because its file holds aggregates alone, this is
 * the median of them all. */
#pragma once

#include "harness/desk/compare/file/benchmark_file.h"

struct location {
    double log;
    double variance; /* of that logarithm, if repetitions were drawn anew; NAN: not known */
};

/* The run's values are above 0. `fewest` is the number of repetitions of the run with the fewest,
 * at least 1; `largest`: the largest is the best. NaN when no memory is left.
 *
 * The variance takes longer, and is NAN without `with_variance`. It is that of Maritz and Jarrett
 * ("A note on estimating the variance of the sample median", J. Am. Stat. Assoc. 73, 1978,
 * 194-196), for this quantile. */
struct location location_of(const struct benchmark_row *run, int fewest, bool largest,
                            bool with_variance);
