/* Machines in question are removed one after the other, the most deviant first. After each removal
 * the noise of the rest is estimated anew: means and moderated variances per figure, then the
 * weight of each shape of tails, then the bound.
 *
 * The last machine that stands out from the noise of the rest stays removed, and all before it;
 * the others come back. So several slow machines cannot hide each other by making the noise look
 * large. */
#include "harness/fleet/fleet_noise.h"

#include "harness/base/figures/statistics.h"
#include "harness/base/figures/student.h"
#include "harness/base/sort.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Machines that are farther from the median than so many deviations are looked at. */
static const double SUSPECT = 3;

/* Degrees of freedom that are tried, and how likely each is before a machine is seen, relative to
 * the others; from the last on, tails are as of normal noise. By made fleets
 * (tests/fleet/test_fleet.c): heavy tails that look light among few machines are what a false alarm
 * comes from. */
static const struct {
    double freedom, before;
} shapes[] = {
    { 2, 4 }, { 2.5, 4 }, { 3, 4 },  { 3.5, 4 }, { 4, 2 },  { 5, 2 },    { 6, 2 },
    { 8, 1 }, { 11, 1 },  { 16, 1 }, { 25, 1 },  { 50, 1 }, { 1000, 1 },
};
enum { SHAPES = ARRAY_SIZE(shapes) };

/* The number by which each outlier reduces the count of machines that the noise is estimated from.
 * More than 1, because the one that is removed is always the most extreme. Fitted on generated
 * fleets (tests/fleet/test_fleet.c). */
static const double PART_MISSED = 1.9;

/* So many values of healthy machines are what `before` is meant for; it counts the more the fewer
 * there are. */
static const double FEW_VALUES = 80;

struct search {
    const struct fleet_matrix *matrix;
    bool *removed;     /* [nodes], the result */
    int *order;        /* [nodes] the most deviant first */
    double *scores;    /* [nodes], then [figures * nodes] */
    double *scratch;   /* [nodes] */
    double *variances; /* [figures] */
    struct student_prior prior;
    double likely[SHAPES]; /* logarithm of the likelihood of each shape */
    double belief;         /* what is believed before counts so much */
    int suspects;
};

static const double *values_of(const struct fleet_matrix *matrix, int figure)
{
    return matrix->slow + (int64_t)figure * matrix->nodes;
}

/* --- The others --- */

/* Mean and standard deviation of a figure of the machines that are not removed. By Welford's
 * method, in one pass. */
static struct fleet_noise noise_of(const struct search *search, int figure)
{
    const double *slow = values_of(search->matrix, figure);
    struct fleet_noise noise = { .deviation = NAN, .bound = INFINITY, .smallest = INFINITY };
    double squares = 0;

    for (int i = 0; i < search->matrix->nodes; i++) {
        double before = noise.mean;
        if (search->removed[i] || isnan(slow[i]))
            continue;
        noise.count++;
        noise.mean += (slow[i] - before) / noise.count;
        squares += (slow[i] - before) * (slow[i] - noise.mean);
    }
    if (noise.count > 1)
        noise.deviation = sqrt(squares / (noise.count - 1));
    return noise;
}

/* The mean of the others is itself uncertain, hence 1 / count. A noise that the file states for the
 * figure counts if it is larger. */
double fleet_noise_deviations(const struct fleet_noise *noise, double slow, double stated)
{
    double scale = fmax(noise->deviation * sqrt(1 + 1.0 / noise->count), stated);
    double off = slow - noise->mean;

    if (scale > 0)
        return off / scale;
    return off == 0 ? 0 : off > 0 ? INFINITY : -INFINITY;
}

/* Student's t with so many degrees of freedom, as a standard normal value of the same
 * probability. */
static double normal_score(double t, double freedom)
{
    double score = (8 * freedom + 1) / (8 * freedom + 3) * sqrt(freedom * log1p(t * t / freedom));

    return t < 0 ? -score : score;
}

/* A value of the sample as a normal score, by the standard deviation of the rest of it. */
static double score_of(const struct search *search, const struct fleet_noise *all, double variance,
                       double slow)
{
    double count = all->count - 1, off = (slow - all->mean) * all->count / count, freedom;
    double squares = variance * count - (slow - all->mean) * off;
    double rest = student_variance(&search->prior, fmax(squares, 0) / (count - 1), count - 1,
                                   search->matrix->alike, &freedom);

    return rest > 0 ? normal_score(off / sqrt(rest * (1 + 1 / count)), freedom) : 0;
}

/* --- How heavy the tails are --- */

/* Logarithm of the likelihood of `values` as Student's t, with the best scale. */
static double likelihood(const double *values, int64_t count, double freedom)
{
    double scale = 1, sum = 0;

    /* Expectation and maximisation: the weights of a value, then the scale. */
    for (int i = 0; i < 12; i++) {
        double squares = 0;
        for (int64_t j = 0; j < count; j++) {
            double square = values[j] * values[j];
            squares += (freedom + 1) * square / (freedom + square / scale);
        }
        scale = squares / (double)count;
    }
    for (int64_t j = 0; j < count; j++) sum += log1p(values[j] * values[j] / (freedom * scale));
    return (double)count * (lgamma((freedom + 1) / 2) - lgamma(freedom / 2) - 0.5 * log(freedom) -
                            0.5 * log(scale)) -
           (freedom + 1) / 2 * sum;
}

/* How likely each shape is, given the machines that are not removed. */
static void weigh_shapes(struct search *search, const struct fleet_noise *noise)
{
    const struct fleet_matrix *matrix = search->matrix;
    int64_t count = 0;

    for (int f = 0; f < matrix->alike; f++) {
        const double *slow = values_of(matrix, f);
        for (int i = 0; i < matrix->nodes && noise[f].count > 2 && noise[f].deviation > 0; i++)
            if (!search->removed[i] && !isnan(slow[i]))
                search->scores[count++] =
                    score_of(search, &noise[f], search->variances[f], slow[i]);
    }
    search->belief = FEW_VALUES / (double)(count > 0 ? count : 1);
    for (int i = 0; i < SHAPES; i++)
        search->likely[i] = count > 0 ? likelihood(search->scores, count, shapes[i].freedom) : 0;
}

/* The probability that one more healthy machine is slower by so many standard deviations. */
static double chance_beyond(const double weights[SHAPES], double deviations, double freedom)
{
    double chance = 0;

    for (int i = 0; i < SHAPES; i++)
        if (weights[i] > 1e-9)
            chance +=
                weights[i] / 2 * student_two_sided(deviations, fmin(freedom, shapes[i].freedom));
    return chance;
}

/* The deviations that chance goes beyond with the probability of the matrix. */
static double bound_of(const struct search *search, double part, double freedom)
{
    double low = 1, high = 1e6, weights[SHAPES];

    /* The weights of the shapes, whose sum is 1, if only this part of the values had been seen. */
    double best = -INFINITY, sum = 0;
    for (int i = 0; i < SHAPES; i++) best = fmax(best, search->likely[i]);
    for (int i = 0; i < SHAPES; i++) {
        weights[i] = pow(shapes[i].before, search->belief) * exp(part * (search->likely[i] - best));
        sum += weights[i];
    }
    for (int i = 0; i < SHAPES; i++) weights[i] /= sum;
    for (int i = 0; i < 40; i++) {
        double middle = sqrt(low * high);
        if (chance_beyond(weights, middle, freedom) > search->matrix->chance)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* --- Who stands out --- */

/* Takes into each figure's noise what all figures tell. */
static void moderate(struct search *search, struct fleet_noise *noise)
{
    const struct fleet_matrix *matrix = search->matrix;
    int most = 0;

    for (int f = 0; f < matrix->figures; f++) {
        noise[f] = noise_of(search, f);
        noise[f].freedom = noise[f].count - 1;
        search->variances[f] =
            isnan(noise[f].deviation) ? 0 : noise[f].deviation * noise[f].deviation;
        most = noise[f].count > most ? noise[f].count : most;
    }
    search->prior = student_prior(search->variances, matrix->alike, fmax(most - 1, 1));
    for (int f = 0; f < matrix->alike; f++)
        if (noise[f].count > 1)
            noise[f].deviation =
                sqrt(student_variance(&search->prior, search->variances[f], noise[f].count - 1,
                                      matrix->alike, &noise[f].freedom));
}

/* The noise that the files state of a figure: the median, of the machines that are not removed. */
static double stated_of(struct search *search, int figure)
{
    const struct fleet_matrix *matrix = search->matrix;
    int count = 0;

    for (int i = 0; i < matrix->nodes; i++)
        if (!search->removed[i])
            search->scratch[count++] = matrix->stated[(int64_t)figure * matrix->nodes + i];
    return stats_sort_median(search->scratch, count);
}

static void judge_others(struct search *search, struct fleet_noise *noise)
{
    const struct fleet_matrix *matrix = search->matrix;
    double freedom = NAN, bound = INFINITY, without_one = INFINITY;

    moderate(search, noise);
    weigh_shapes(search, noise);
    for (int f = 0; f < matrix->figures; f++) {
        struct fleet_noise *row = &noise[f];
        double scale, part = 1 - PART_MISSED / row->count;
        if (row->count < 3)
            continue;
        if (row->freedom != freedom) {
            freedom = row->freedom;
            bound = bound_of(search, 1, freedom);
            without_one = bound_of(search, part, fmax(freedom * part, 1));
        }
        row->bound = bound;
        scale = fmax(row->deviation * sqrt(1 + 1.0 / (row->count - 1)), stated_of(search, f));
        row->smallest = student_shows(without_one, scale, matrix->least, STUDENT_LUCK_20);
    }
}

/* Slow or fast: a machine that is far too fast is as odd, and its removal matters to the noise. */
static bool stands_out(const struct fleet_matrix *matrix, const struct fleet_noise *noise, int node)
{
    for (int f = 0; f < matrix->figures; f++) {
        double slow = values_of(matrix, f)[node];
        double stated = matrix->stated[(int64_t)f * matrix->nodes + node];
        if (!isnan(slow) && fabs(slow - noise[f].mean) >= matrix->least &&
            fabs(fleet_noise_deviations(&noise[f], slow, stated)) > noise[f].bound)
            return true;
    }
    return false;
}

static int by_score(const void *left, const void *right, void *scores)
{
    const double *score = scores;

    return COMPARE(score[*(const int *)right], score[*(const int *)left]);
}

/* The machines by their largest deviation from a median, which half of them may miss without moving
 * it. */
static void put_in_order(struct search *search)
{
    const struct fleet_matrix *matrix = search->matrix;
    double *score = search->scores;

    for (int i = 0; i < matrix->nodes; i++) score[i] = 0;
    for (int f = 0; f < matrix->figures; f++) {
        const double *slow = values_of(matrix, f);
        struct stats_bulk bulk;
        int count = 0;
        for (int i = 0; i < matrix->nodes; i++)
            if (!search->removed[i] && !isnan(slow[i]))
                search->scratch[count++] = slow[i];
        if (count < 3)
            continue;
        bulk = stats_bulk(search->scratch, count);
        for (int i = 0; i < matrix->nodes; i++)
            if (!isnan(slow[i]) && fabs(slow[i] - bulk.median) >= matrix->least)
                score[i] =
                    fmax(score[i], fabs(slow[i] - bulk.median) / fmax(bulk.deviation, DBL_MIN));
    }
    for (int i = 0; i < matrix->nodes; i++) search->order[i] = i;
    qsort_r(search->order, (size_t)matrix->nodes, sizeof *search->order, by_score, score);
    while (search->suspects < (matrix->nodes - 1) / 2 &&
           score[search->order[search->suspects]] > SUSPECT)
        search->suspects++;
}

/* The sum of squares around the mean. */
static double squares_of(const double *values, int count)
{
    return (count - 1) * pow(stats_deviation(values, count), 2);
}

struct fleet_split fleet_noise_split(struct arena *arena, const struct fleet_matrix *matrix,
                                     int figure)
{
    SCRATCH_ARENA(scratch, arena);
    struct fleet_split split = { INFINITY, 0 };
    double *values = ARENA_NEW(scratch, double, matrix->nodes), squares, gap = 0;
    int count = 0, at = 0, least;

    for (int i = 0; i < matrix->nodes; i++)
        if (!matrix->doubtful[i] && !isnan(values_of(matrix, figure)[i]))
            values[count++] = values_of(matrix, figure)[i];
    stats_sort(values, count);
    least = count / 4 > 2 ? count / 4 : 2;
    for (int i = least; i <= count - least; i++)
        if (values[i] - values[i - 1] > gap) {
            gap = values[i] - values[i - 1];
            at = i;
        }
    if (gap >= matrix->least) {
        squares = squares_of(values, at) + squares_of(values + at, count - at);
        if (gap > student_critical(matrix->chance, count - 2) * sqrt(squares / (count - 2)))
            split = (struct fleet_split){ values[at], stats_mean(values + at, count - at) -
                                                          stats_mean(values, at) };
    }
    return split;
}

/* Removes the doubtful, if enough others are left to judge by. */
static void remove_doubtful(struct search *search)
{
    const struct fleet_matrix *matrix = search->matrix;
    int clean = 0;

    for (int i = 0; i < matrix->nodes; i++) clean += !matrix->doubtful[i];
    for (int i = 0; i < matrix->nodes; i++)
        search->removed[i] = clean >= 4 && 2 * clean > matrix->nodes && matrix->doubtful[i];
}

void fleet_noise_find(struct arena *arena, struct fleet_noise *noise, bool *out,
                      const struct fleet_matrix *matrix)
{
    SCRATCH_ARENA(scratch, arena);
    int64_t nodes = matrix->nodes;
    struct search search = { .matrix = matrix,
                             .removed = out,
                             .order = ARENA_NEW(scratch, int, nodes),
                             .scratch = ARENA_NEW(scratch, double, nodes),
                             .variances = ARENA_NEW(scratch, double, matrix->figures),
                             .scores = ARENA_NEW(scratch, double, nodes *(matrix->figures + 1)) };
    int found = 0;

    remove_doubtful(&search);
    put_in_order(&search);
    for (int k = 0; k < search.suspects; k++) {
        search.removed[search.order[k]] = true;
        judge_others(&search, noise);
        if (stands_out(matrix, noise, search.order[k]))
            found = k + 1;
    }
    for (int k = found; k < search.suspects; k++)
        search.removed[search.order[k]] = matrix->doubtful[search.order[k]];
    judge_others(&search, noise);
}
