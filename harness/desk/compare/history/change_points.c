/* Values become normal scores of their ranks. The scan over all splits works on running sums; the
 * test of the last window counts all choices of as many scores. */
#include "harness/desk/compare/history/change_points.h"

#include "harness/base/figures/statistics.h"
#include "harness/base/sort.h"
#include "harness/base/status.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A share of the error rate. */
#define SHARE_RECENT 0.9
#define SHARE_SCAN   0.1

/* The scores of a part of the series. */
struct part {
    const double *values;
    int count;
    double *scores; /* [count], of mean 0 */
    double squares; /* their sum */
};

/* --- Normal scores --- */

/* The probability above z. */
static double normal_above(double z)
{
    return erfc(z * M_SQRT1_2) / 2;
}

/* The z with probability `below` under it, by Newton's method from the logistic distribution's. */
static double normal_quantile(double below)
{
    double z = log(below / (1 - below)) / 1.702;

    for (int i = 0; i < 6; i++)
        z += (below - normal_above(-z)) / (exp(-z * z / 2) / sqrt(2 * M_PI));
    return z;
}

struct placed {
    double value;
    int place;
};

COMPARATOR(by_value, struct placed, ASCENDING(value))

/* Equal values share the score of their mean rank. False: no memory is left. */
static bool part_score(struct part *part)
{
    int count = part->count;
    double mean = 0;
    struct placed *order = malloc((size_t)count * sizeof *order);

    if (order == NULL)
        return false;
    for (int i = 0; i < count; i++) order[i] = (struct placed){ part->values[i], i };
    qsort(order, (size_t)count, sizeof *order, by_value);
    for (int first = 0, end; first < count; first = end) {
        double score;
        for (end = first + 1; end < count && order[end].value == order[first].value; end++)
            continue;
        score = normal_quantile((first + end + 1) / 2.0 / (count + 1));
        for (int i = first; i < end; i++) part->scores[order[i].place] = score;
        mean += score * (end - first) / count;
    }
    part->squares = 0;
    for (int i = 0; i < count; i++) {
        part->scores[i] -= mean;
        part->squares += part->scores[i] * part->scores[i];
    }
    free(order);
    return true;
}

/* The standardised sum of the scores from `at` on, if their sum is `sum`. */
static double standardised(const struct part *part, int at, double sum)
{
    double n = part->count;

    return sum / sqrt((n - at) * at / n / (n - 1) * part->squares);
}

/* The correlation of neighbours within one block; 0: all are equal. */
static double block_correlation(const double *scores, int count)
{
    double products = 0, squares = 0, mean = stats_mean(scores, count);

    for (int i = 0; i < count; i++) {
        squares += (scores[i] - mean) * (scores[i] - mean);
        products += i > 0 ? (scores[i] - mean) * (scores[i - 1] - mean) : 0;
    }
    return squares > 1e-9 * count ? products / squares : 0;
}

/* How neighbours correlate, beyond doubt; 0: not beyond it. It is the median of blocks, so that a
 * change of state, which is in one of them, is not taken for correlation. In a block the estimate
 * is too small by (1 + 4 r) / BLOCK (Marriott and Pope, "Bias in the estimation of
 * autocorrelations", Biometrika 41, 1954, 390-402). */
static double correlation_of(const double *scores, int count)
{
    enum { BLOCK = 20, BLOCKS_MOST = 64 };
    int blocks = count / BLOCK;
    double own[BLOCKS_MOST], above, deviation;

    if (blocks == 0)
        return 0;
    blocks = blocks < BLOCKS_MOST ? blocks : BLOCKS_MOST;
    for (int i = 0; i < blocks; i++)
        own[i] = block_correlation(scores + count - (i + 1) * BLOCK, BLOCK);
    above = stats_median(own, blocks) + 1.0 / BLOCK;
    deviation = sqrt(STATS_MEDIAN_VARIANCE / BLOCK / blocks);
    return above > 1.96 * deviation ? fmin(above / (1 - 4.0 / BLOCK), 0.95) : 0;
}

/* By how much less a standardised sum counts for it. */
static double discount(const double *scores, int count)
{
    double correlation = correlation_of(scores, count);

    return sqrt((1 - correlation) / (1 + correlation));
}

/* --- All splits --- */

/* Owen's T(z, a) for a below 0.5, by Gauss and Legendre's rule of three points. */
static double owen(double z, double a)
{
    static const double places[] = { 0.1127016653792583, 0.5, 0.8872983346207417 },
                        weights[] = { 5.0 / 18, 8.0 / 18, 5.0 / 18 };
    double sum = 0;

    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        double square = 1 + pow(a * places[i], 2);
        sum += weights[i] * exp(-z * z * square / 2) / square;
    }
    return a * sum / (2 * M_PI);
}

/* The chance that the first split reaches z, plus, for each further split, the chance that it does
 * and the one before it does not. */
double change_scan_chance(double z, int count, int least)
{
    double chance = normal_above(z);

    for (int at = least; at < count - least; at++) {
        double correlation = sqrt((double)at * (count - at - 1) / (at + 1.0) / (count - at));
        chance += 2 * owen(z, sqrt((1 - correlation) / (1 + correlation)));
    }
    return fmin(chance, 1);
}

/* The split that the scan finds; 0: none. */
static int find_split(const struct part *part, double error)
{
    double sum = 0, largest = 0;
    int best = 0;

    for (int at = part->count - 1; at >= CHANGE_WINDOW; at--) {
        double z;
        sum += part->scores[at];
        z = fabs(standardised(part, at, sum));
        if (part->count - at >= CHANGE_WINDOW && z > largest) {
            largest = z;
            best = at;
        }
    }
    if (best == 0)
        return 0;
    largest *= discount(part->scores, part->count);
    /* Before the whole sum, its first term: most series have no split. */
    if (!(normal_above(largest) <= error) ||
        !(change_scan_chance(largest, part->count, CHANGE_WINDOW) <= error))
        return 0;
    return best;
}

/* Adds the splits of values[from .. to - 1] to at[found...]. Returns how many there are then; -1:
 * no memory. */
static int find_splits(const double *values, int from, int to, double error, double *scores,
                       int *at, int found)
{
    struct part part = { values + from, to - from, scores, 0 };
    int split;

    if (part.count < CHANGE_RUNS_LEAST)
        return found;
    if (!part_score(&part))
        return -1;
    split = find_split(&part, error);
    if (split == 0)
        return found;
    found = find_splits(values, from, from + split, error, scores, at, found);
    if (found < 0)
        return -1;
    at[found++] = from + split;
    return find_splits(values, from + split, to, error, scores, at, found);
}

/* --- The last runs --- */

double change_chance(const double *scores, int count, int chosen)
{
    enum { PARTS = 16 };
    double least = INFINITY, most = -INFINITY, above = 0, all = 0, *ways;
    int width, reached = 0;

    for (int i = 0; i < count; i++) {
        least = fmin(least, scores[i]);
        most = fmax(most, scores[i]);
    }
    width = chosen * (int)lround(PARTS * (most - least)) + 1;
    /* ways[j * width + s]: choices of j scores, of those seen so far, that add up to s. */
    ways = calloc((size_t)(chosen + 1) * (size_t)width, sizeof *ways);
    if (ways == NULL)
        return NAN;
    ways[0] = 1;
    for (int i = 0; i < count; i++) {
        int score = (int)lround(PARTS * (scores[i] - least));
        reached += i >= count - chosen ? score : 0;
        for (int j = i < chosen ? i : chosen - 1; j >= 0; j--) {
            const double *from = ways + j * width;
            double *to = ways + (j + 1) * width + score;
            for (int s = 0; s < width - score; s++) to[s] += from[s];
        }
    }
    for (int s = 0; s < width; s++) {
        all += ways[chosen * width + s];
        above += s >= reached ? ways[chosen * width + s] : 0;
    }
    free(ways);
    return above / all;
}

/* The probability of the last window, which is higher (`sign` 1) or lower (-1) than what is before
 * it by `z` deviations. NaN: no memory. The scores get the sign. */
static double recent_chance(struct part *part, double z, int sign)
{
    double less = discount(part->scores, part->count - CHANGE_WINDOW), chance;

    for (int i = 0; i < part->count; i++) part->scores[i] *= sign;
    chance = change_chance(part->scores, part->count, CHANGE_WINDOW);
    return less < 1 ? fmax(chance, normal_above(z * less)) : chance;
}

/* How many runs the last state has: where the difference is most plain, up to two windows. Its sign
 * is that of the last window. */
static int recent_length(const struct part *part, int sign)
{
    double sum = part->scores[part->count - 1], largest = 0;
    int best = CHANGE_WINDOW;

    for (int length = 2; length <= 2 * CHANGE_WINDOW; length++) {
        int at = part->count - length;
        double z;
        if (at < CHANGE_WINDOW)
            break;
        sum += part->scores[at];
        z = sign * standardised(part, at, sum);
        if (z > largest) {
            largest = z;
            best = length;
        }
    }
    return best;
}

/* Whether the last window of a state's `runs` runs is unlike those before: 1 higher, -1 lower, 0
 * alike; 2: no memory is left. */
static int recent_sign(const double *values, int runs, double error, double *scores)
{
    int beyond = runs - CHANGE_RUNS_LEAST, gap, before, sign;
    double tested[CHANGE_BASELINE_MOST + CHANGE_WINDOW], sum = 0, z, chance;
    struct part part = { tested, 0, scores, 0 };

    gap = beyond / 5 < CHANGE_WINDOW ? beyond / 5 : CHANGE_WINDOW;
    before = runs - gap - CHANGE_WINDOW;
    before = before < CHANGE_BASELINE_MOST ? before : CHANGE_BASELINE_MOST;
    part.count = before + CHANGE_WINDOW;
    values += runs - CHANGE_WINDOW;
    memcpy(tested, values - gap - before, (size_t)before * sizeof *tested);
    memcpy(tested + before, values, CHANGE_WINDOW * sizeof *tested);
    if (!part_score(&part))
        return 2;
    for (int i = before; i < part.count; i++) sum += scores[i];
    sign = sum > 0 ? 1 : -1;
    z = fabs(standardised(&part, before, sum));
    if (!(z > 1)) /* Noise alone exceeds 1 in one of three series, and nobody wants an error rate
                     that large. */
        return 0;
    chance = recent_chance(&part, z, sign);
    return isnan(chance) ? 2 : chance <= error ? sign : 0;
}

/* The first run of a state that the last window shows; 0: none. -1: no memory. */
static int find_recent(const double *values, int from, int count, double error, double *scores)
{
    struct part state = { .scores = scores };
    int sign;

    if (count - from < CHANGE_RUNS_LEAST)
        return 0;
    sign = recent_sign(values + from, count - from, error, scores);
    if (sign == 0 || sign == 2)
        return sign == 0 ? 0 : -1;
    if (count - from > CHANGE_BASELINE_MOST)
        from = count - CHANGE_BASELINE_MOST;
    state.values = values + from;
    state.count = count - from;
    if (!part_score(&state))
        return -1;
    return count - recent_length(&state, sign);
}

int change_points_find(const double *values, int count, double error, int *at)
{
    double *scores = malloc(((size_t)count + 1) * sizeof *scores);
    int found = -1, recent;

    if (scores == NULL)
        return -1;
    found = find_splits(values, 0, count, SHARE_SCAN * error, scores, at, 0);
    if (found >= 0) {
        recent =
            find_recent(values, found > 0 ? at[found - 1] : 0, count, SHARE_RECENT * error, scores);
        if (recent > 0)
            at[found++] = recent;
        else if (recent < 0)
            found = -1;
    }
    free(scores);
    return found;
}
