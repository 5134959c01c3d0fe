/* A matrix of rows by runs is taken apart: the median over the rows is what a run has in common,
 * the rest is each row's own. */
#include "harness/desk/compare/row_sides.h"

#include "harness/base/figures/statistics.h"
#include "harness/base/rows.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Replaces each of `count` values by its distance from their mean, which it returns. */
static double centre(double *values, int count)
{
    double mean = 0;

    for (int i = 0; i < count; i++) mean += values[i] / count;
    for (int i = 0; i < count; i++) values[i] -= mean;
    return mean;
}

/* The squares of one side of one row, after the part that its runs have in common is taken off. */
static double own_squares(const double *logs, const double *centres, int count)
{
    double mean = 0, sum = 0;

    for (int i = 0; i < count; i++) mean += (logs[i] - centres[i]) / count;
    for (int i = 0; i < count; i++) sum += pow(logs[i] - centres[i] - mean, 2);
    return sum;
}

/* The centres take a share of 1 / rows out of what each row varies by on its own. */
static double own_variance(const struct run_noise *noise, const double *logs, int base, int after)
{
    double sum = own_squares(logs, noise->centres, base) +
                 own_squares(logs + base, noise->centres + base, after);

    return sum / noise->freedom * noise->rows / (noise->rows - 1);
}

/* By how much the later of two neighbours is larger, or new where one of them is base. */
static double step(const double *centres, int base, int earlier, int later)
{
    double difference = centres[later] - centres[earlier];

    return later < base && earlier >= base ? -difference : difference;
}

/* Half the variance of the differences between neighbours: what one run varies by beside what
 * drifts. Those between base and new have the sides' own difference in them, which is their mean
 * and falls out. `centres` are the runs' distances from the mean of all runs. */
static double common_of_neighbours(const double *centres, int base, int files, const int *turns)
{
    double mean = 0, squares = 0;
    int across = 0;

    for (int t = 0; t + 1 < files; t++) {
        if ((turns[t] < base) == (turns[t + 1] < base))
            continue;
        mean += step(centres, base, turns[t], turns[t + 1]);
        across++;
    }
    mean /= across;
    for (int t = 0; t + 1 < files; t++) {
        bool crosses = (turns[t] < base) != (turns[t + 1] < base);
        squares += pow(step(centres, base, turns[t], turns[t + 1]) - (crosses ? mean : 0), 2);
    }
    return squares / (files - 2) / 2;
}

/* Also takes the sides' own difference out of the centres. */
static double learn_common(struct run_noise *noise, int base, int after, const int *turns)
{
    double sum = 0, neighbours = 0;

    if (turns != NULL)
        neighbours = common_of_neighbours(noise->centres, base, base + after, turns);
    noise->shift = centre(noise->centres + base, after) - centre(noise->centres, base);
    for (int i = 0; i < base + after; i++) sum += noise->centres[i] * noise->centres[i];
    return turns != NULL ? neighbours : sum / noise->freedom;
}

/* How far most rows moved; and, of one run per side, that the rows' changes spread by the noise of
 * two runs. */
static enum status learn_changes(struct run_noise *noise, const double *logs, int rows, int base,
                                 int after)
{
    double *changes = NULL, low, high;

    TRY(rows_make(&changes, rows + 1));
    for (int i = 0; i < rows; i++, logs += base + after)
        changes[i] = stats_mean(logs + base, after) - stats_mean(logs, base);
    stats_sort(changes, rows);
    low = changes[(rows - 1) / 2];
    high = changes[rows / 2];
    noise->most = low > 0 ? low : fmin(high, 0);
    if (rows >= RUN_NOISE_ROWS_LEAST && base == 1 && after == 1)
        noise->alone = stats_bulk(changes, rows).deviation / sqrt(2);
    free(changes);

    return STATUS_OK;
}

enum status run_noise_learn(struct run_noise *noise, const double *logs, int rows, int base,
                            int after, const int *turns)
{
    enum status status = STATUS_OK;
    int files = base + after;
    double *distances = NULL, *column = NULL;

    *noise = (struct run_noise){ .freedom = files - (base > 0) - (after > 0) };
    if (rows > 0 && base > 0 && after > 0)
        TRY_OUT(learn_changes(noise, logs, rows, base, after));
    if (rows < RUN_NOISE_ROWS_LEAST || noise->freedom < 1)
        goto out;
    TRY_OUT(rows_make(&noise->centres, files));
    TRY_OUT(rows_make(&distances, (int64_t)rows * files));
    TRY_OUT(rows_make(&column, rows));
    noise->rows = rows;
    memcpy(distances, logs, (size_t)rows * (size_t)files * sizeof *logs);
    for (int row = 0; row < rows; row++) centre(distances + row * files, files);
    for (int file = 0; file < files; file++) {
        for (int row = 0; row < rows; row++) column[row] = distances[row * files + file];
        noise->centres[file] = stats_sort_median(column, rows);
    }
    noise->common = learn_common(noise, base, after, turns);
    for (int row = 0; row < rows; row++)
        column[row] = own_variance(noise, logs + row * files, base, after);
    noise->prior = student_prior(column, rows, noise->freedom);
    /* The centres are medians of the rows' own parts as well, and vary by those. */
    if (noise->prior.freedom > 0)
        noise->common =
            fmax(0, noise->common - STATS_MEDIAN_VARIANCE * noise->prior.variance / rows);

out:
    free(distances);
    free(column);
    return status;
}

int run_noise_moved(const struct run_noise *noise, int base, int after, double stated, double limit)
{
    const bool alone = base == 1 && after == 1;
    double variance = alone ? stated * stated : NAN, shift = alone ? noise->most : noise->shift,
           reach;

    if (!alone && (noise->rows == 0 || base == 0 || after == 0))
        return 0;
    if (!alone)
        variance = noise->common + STATS_MEDIAN_VARIANCE * noise->prior.variance / noise->rows;
    reach = student_critical(RUN_NOISE_MOVED, alone ? INFINITY : noise->freedom) *
            sqrt(variance * (1.0 / base + 1.0 / after));
    if (!(fabs(shift) > limit && fabs(shift) > reach))
        return 0;
    return shift > 0 ? 1 : -1;
}

void run_noise_release(struct run_noise *noise)
{
    free(noise->centres);
    *noise = (struct run_noise){ .rows = 0 };
}

double run_noise_variance(const struct run_noise *noise, const double *logs, int base, int after,
                          double least, double *freedom)
{
    double own = own_variance(noise, logs, base, after), own_freedom;

    own = fmax(least,
               student_variance(&noise->prior, own, noise->freedom, noise->rows, &own_freedom));
    *freedom = noise->freedom;
    if (noise->common + own > 0)
        *freedom = pow(noise->common + own, 2) /
                   (pow(noise->common, 2) / noise->freedom + pow(own, 2) / own_freedom);
    return noise->common + own;
}
