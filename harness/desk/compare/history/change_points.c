/* Values become ranks and their normal scores. The scan over all splits works on running sums; the
 * test of the last window counts all choices of as many scores. How neighbours correlate is taken
 * from what a trend or steps leave of the ranks, since neither is noise. */
#include "harness/desk/compare/history/change_points.h"

#include "harness/base/figures/statistics.h"
#include "harness/base/figures/student.h"
#include "harness/base/sort.h"
#include "harness/base/status.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A share of the error rate. */
#define SHARE_RECENT 0.75
#define SHARE_SCAN   0.1
#define SHARE_TREND  0.1
#define SHARE_JUMP   0.05

/* The scores of a part of the series. */
struct part {
    const double *values;
    int count;
    double *scores;     /* [count], of mean 0 */
    double *ranks;      /* [count]: equal values share their mean rank */
    double squares;     /* of the scores, their sum */
    double correlation; /* of neighbours */
};

/* --- Normal scores --- */

/* The probability above z. */
static double normal_above(double z)
{
    return erfc(z * M_SQRT1_2) / 2;
}

/* The z with probability `below` under it. Abramowitz and Stegun's 26.2.23 is within 4.5e-4 of it
 * however small the tail, so that Newton's method needs two steps; from farther away it would not
 * converge in a tail. */
static double normal_quantile(double below)
{
    double tail = fmax(fmin(below, 1 - below), DBL_MIN), t = sqrt(-2 * log(tail));
    double z = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                       (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));

    for (int i = 0; i < 2; i++) z += (normal_above(z) - tail) * exp(z * z / 2) * sqrt(2 * M_PI);
    return below < 0.5 ? -z : z;
}

struct placed {
    double value;
    int place;
};

COMPARATOR(by_value, struct placed, ASCENDING(value))

/* Doubles of room that a part of so many values takes. */
enum { ROOM = 3 };

/* Heavy tails: of noise with 3 degrees one run of a thousand is 10 deviations away. */
enum { JUMP_FREEDOM = 3 };

static double correlation_of(const struct part *part, double *room);

/* Equal values share the score of their mean rank. False: no memory is left. */
static bool part_score(struct part *part, double *room)
{
    int count = part->count;
    double mean = 0;
    struct placed *order = malloc((size_t)count * sizeof *order);

    part->scores = room;
    part->ranks = room + count;

    if (order == NULL)
        return false;
    for (int i = 0; i < count; i++) order[i] = (struct placed){ part->values[i], i };
    qsort(order, (size_t)count, sizeof *order, by_value);
    for (int first = 0, end; first < count; first = end) {
        double score, rank;
        for (end = first + 1; end < count && order[end].value == order[first].value; end++)
            continue;
        rank = (first + end + 1) / 2.0;
        score = normal_quantile(rank / (count + 1));
        for (int i = first; i < end; i++) {
            part->scores[order[i].place] = score;
            part->ranks[order[i].place] = rank;
        }
        mean += score * (end - first) / count;
    }
    part->squares = 0;
    for (int i = 0; i < count; i++) {
        part->scores[i] -= mean;
        part->squares += part->scores[i] * part->scores[i];
    }
    part->correlation = correlation_of(part, room + 2 * count);
    free(order);
    return true;
}

/* The standardised sum of the scores from `at` on, if their sum is `sum`. */
static double standardised(const struct part *part, int at, double sum)
{
    double n = part->count;

    return sum / sqrt((n - at) * at / n / (n - 1) * part->squares);
}

/* --- How neighbours correlate --- */

/* The correlation of neighbours in what is left of `values` after fit[]; 0: nothing is left. */
static double correlation_left(const double *values, const double *fit, int count)
{
    double products = 0, squares = 0;

    for (int i = 0; i < count; i++) {
        squares += pow(values[i] - fit[i], 2);
        products += i > 0 ? (values[i] - fit[i]) * (values[i - 1] - fit[i - 1]) : 0;
    }
    return squares > 1e-9 * count ? products / squares : 0;
}

/* The line by least squares. */
static void fit_line(const double *values, int count, double *fit)
{
    double middle = (count - 1) / 2.0, mean = stats_mean(values, count), slope = 0;

    for (int i = 0; i < count; i++)
        slope += (i - middle) * values[i] / (count * (count * (double)count - 1) / 12);
    for (int i = 0; i < count; i++) fit[i] = mean + slope * (i - middle);
}

/* The two means that fit best, with a window on either side at least. */
static void fit_step(const double *values, int count, double *fit)
{
    double mean = stats_mean(values, count), sum = 0, largest = -1, after = 0;
    int best = CHANGE_WINDOW;

    for (int at = count - 1; at >= CHANGE_WINDOW; at--) {
        double gain;
        sum += values[at] - mean;
        gain = sum * sum / ((double)at * (count - at));
        if (count - at < CHANGE_WINDOW || gain <= largest)
            continue;
        largest = gain;
        best = at;
        after = sum;
    }
    for (int i = 0; i < count; i++)
        fit[i] = mean + (i < best ? -after / best : after / (count - best));
}

/* later[at] is the nearest of the runs from `at` on, in the direction from the first run to the
 * last, whose sign is returned: all of them are beyond all those before them if it is. */
static int find_later(const double *values, int count, double *later)
{
    int sign = values[count - 1] > values[0] ? 1 : -1;

    for (int at = count - 1; at >= 0; at--)
        later[at] = fmin(sign * values[at], at < count - 1 ? later[at + 1] : INFINITY);
    return sign;
}

/* The means of states of a window at least, each of which is beyond all of those before it. */
static void fit_stairs(const double *values, int count, double *fit)
{
    int sign = find_later(values, count, fit), from = 0;
    double farthest = -INFINITY;

    for (int at = 1; at <= count; at++) {
        double mean;
        farthest = fmax(farthest, sign * values[at - 1]);
        if (at < count &&
            (at - from < CHANGE_WINDOW || count - at < CHANGE_WINDOW || !(farthest < fit[at])))
            continue;
        mean = stats_mean(values + from, at - from);
        for (; from < at; from++) fit[from] = mean;
    }
}

/* How neighbours correlate in what is left of the ranks after a trend, a step, or steps of one way,
 * whichever leaves least. Such an estimate is too small, as Marriott and Pope derive for a mean
 * ("Bias in the estimation of autocorrelations", Biometrika 41, 1954, 390-402); after the better of
 * a line and a step chosen from all splits, it is by (LOW + WIDE r) / n of series of 20 to 100
 * runs, as drawing shows (test_change_points.c). Noise hardly ever makes stairs. */
static double correlation_of(const struct part *part, double *room)
{
    enum { WIDE = 9 };
    static const double low = 4;
    int count = part->count;
    double least;

    fit_line(part->ranks, count, room);
    least = correlation_left(part->ranks, room, count);
    fit_step(part->ranks, count, room);
    least = fmin(least, correlation_left(part->ranks, room, count));
    fit_stairs(part->ranks, count, room);
    least = fmin(least, correlation_left(part->ranks, room, count));
    least = (count * least + low) / fmax(count - WIDE, count / 2.0);
    return fmin(fmax(least, 0), 0.95);
}

/* As many independent runs tell as much (Bayley and Hammersley, "The effective number of
 * independent observations in an autocorrelated time series", Suppl. J. R. Stat. Soc. 8, 1946,
 * 184-197, for many runs of an autoregressive noise). */
static double effective_count(const struct part *part)
{
    return part->count * (1 - part->correlation) / (1 + part->correlation);
}

/* The chance of `z` by Student's t of as many runs as these are worth (Santer and others,
 * "Statistical significance of trends and trend differences in layer-average atmospheric
 * temperature time series", J. Geophys. Res. 105, 2000, 7337-7356); 0: they are independent. */
static double correlated_chance(const struct part *part, double z)
{
    double worth = effective_count(part);

    if (!(part->correlation > 0))
        return 0;
    return student_two_sided(z * sqrt(worth / part->count), fmax(worth - 2, 1)) / 2;
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
    /* Before the whole sum, its first term: most series have no split. */
    if (!(fmax(normal_above(largest), correlated_chance(part, largest)) <= error) ||
        !(change_scan_chance(largest, part->count, CHANGE_WINDOW) <= error))
        return 0;
    return best;
}

/* Adds the splits of values[from .. to - 1] to at[found...]. Returns how many there are then; -1:
 * no memory. */
static int find_splits(const double *values, int from, int to, double error, double *room, int *at,
                       int found)
{
    struct part part = { .values = values + from, .count = to - from };
    int split;

    if (part.count < CHANGE_RUNS_LEAST)
        return found;
    if (!part_score(&part, room))
        return -1;
    split = find_split(&part, error);
    if (split == 0)
        return found;
    found = find_splits(values, from, from + split, error, room, at, found);
    if (found < 0)
        return -1;
    at[found++] = from + split;
    return find_splits(values, from + split, to, error, room, at, found);
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
    double chance;

    for (int i = 0; i < part->count; i++) part->scores[i] *= sign;
    chance = change_chance(part->scores, part->count, CHANGE_WINDOW);
    return fmax(chance, correlated_chance(part, z));
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
static int recent_sign(const double *values, int runs, double error, double *room)
{
    int beyond = runs - CHANGE_RUNS_LEAST, gap, before, sign;
    double tested[CHANGE_BASELINE_MOST + CHANGE_WINDOW], sum = 0, z, chance;
    struct part part = { .values = tested };

    gap = beyond / 5 < CHANGE_WINDOW ? beyond / 5 : CHANGE_WINDOW;
    before = runs - gap - CHANGE_WINDOW;
    before = before < CHANGE_BASELINE_MOST ? before : CHANGE_BASELINE_MOST;
    part.count = before + CHANGE_WINDOW;
    values += runs - CHANGE_WINDOW;
    memcpy(tested, values - gap - before, (size_t)before * sizeof *tested);
    memcpy(tested + before, values, CHANGE_WINDOW * sizeof *tested);
    if (!part_score(&part, room))
        return 2;
    for (int i = before; i < part.count; i++) sum += part.scores[i];
    sign = sum > 0 ? 1 : -1;
    z = fabs(standardised(&part, before, sum));
    if (!(z > 1)) /* Noise alone exceeds 1 in one of three series, and nobody wants an error rate
                     that large. */
        return 0;
    chance = recent_chance(&part, z, sign);
    return isnan(chance) ? 2 : chance <= error ? sign : 0;
}

/* The first run of a state that the last window shows; 0: none. -1: no memory. */
static int find_recent(const double *values, int from, int count, double error, double *room)
{
    struct part state = { .count = 0 };
    int sign;

    if (count - from < CHANGE_RUNS_LEAST)
        return 0;
    sign = recent_sign(values + from, count - from, error, room);
    if (sign == 0 || sign == 2)
        return sign == 0 ? 0 : -1;
    if (count - from > CHANGE_BASELINE_MOST)
        from = count - CHANGE_BASELINE_MOST;
    state.values = values + from;
    state.count = count - from;
    if (!part_score(&state, room))
        return -1;
    return count - recent_length(&state, sign);
}

/* --- Runs far beyond all others --- */

/* The chance that the runs behind the first `before` are `nearest` or more, times `sign`; 1: one of
 * the first was half as far away. One of them alone counts, the nearest. */
static double jump_chance(const double *values, int before, int sign, double nearest, double *room)
{
    double middle, spread;

    memcpy(room, values, (size_t)before * sizeof *room);
    middle = stats_sort_median(room, before);
    nearest -= sign * middle;
    for (int i = 0; i < before; i++) {
        room[i] = fabs(values[i] - middle);
        if (!(room[i] < nearest / 2))
            return 1;
    }
    spread =
        fmax(stats_deviation(values, before), STATS_MAD_SCALE * stats_sort_median(room, before));
    spread *= sqrt(1 + 1.0 / before);
    return spread > 0 ? student_two_sided(nearest / spread, JUMP_FREEDOM) / 2 : 0;
}

int change_jump(const double *values, int count, double *room, double *chance)
{
    double *later = room + count, farthest = -INFINITY;
    int best = 0, sign;

    *chance = 1;
    if (count < CHANGE_RUNS_LEAST)
        return 0;
    sign = find_later(values, count, later);
    for (int before = 1; before < count; before++) {
        double own;
        farthest = fmax(farthest, sign * values[before - 1]);
        if (before < CHANGE_RUNS_LEAST - 1 || !(farthest < later[before]))
            continue;
        own = jump_chance(values, before, sign, later[before], room);
        best = own < 1 && own <= *chance ? count - before : best;
        *chance = fmin(*chance, own);
    }
    return best;
}

/* --- A trend --- */

int change_trend(const double *values, int count, double error)
{
    struct part part = { .values = values, .count = count };
    double *room, middle = (count - 1) / 2.0, products = 0, squares = 0, rho, worth, t;

    if (count < CHANGE_RUNS_LEAST)
        return 0;
    room = malloc(ROOM * (size_t)count * sizeof *room);
    if (room == NULL || !part_score(&part, room)) {
        free(room);
        return 2;
    }
    for (int i = 0; i < count; i++) {
        double rank = part.ranks[i] - (count + 1) / 2.0;
        products += (i - middle) * rank;
        squares += rank * rank;
    }
    free(room);
    rho = squares > 0 ? products / sqrt(squares * count * (count * (double)count - 1) / 12) : 0;
    worth = effective_count(&part);
    if (!(worth > 3))
        return 0;
    t = fabs(rho) * sqrt((worth - 2) / fmax(1 - rho * rho, 1e-12));
    if (!(student_two_sided(t, worth - 2) / 2 <= SHARE_TREND * error))
        return 0;
    return rho > 0 ? 1 : -1;
}

int change_points_find(const double *values, int count, double error, int *at)
{
    double *room = malloc(ROOM * ((size_t)count + 1) * sizeof *room), chance;
    int found = -1, recent, last;

    if (room == NULL)
        return -1;
    found = find_splits(values, 0, count, SHARE_SCAN * error, room, at, 0);
    if (found >= 0) {
        last = found > 0 ? at[found - 1] : 0;
        recent = find_recent(values, last, count, SHARE_RECENT * error, room);
        if (recent == 0) {
            int length = change_jump(values + last, count - last, room, &chance);
            recent = chance <= SHARE_JUMP * error ? count - length : 0;
        }
        if (recent > 0)
            at[found++] = recent;
        else if (recent < 0)
            found = -1;
    }
    free(room);
    return found;
}
