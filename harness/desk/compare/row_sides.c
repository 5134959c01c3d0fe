/* Variances are sums of squares with their degrees of freedom until the end, so that sides of
 * different size add up. */
#include "harness/desk/compare/row_sides.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

bool side_is_positive(const struct side *side)
{
    double least = INFINITY;

    for (int i = 0; i < side->count; i++) {
        least = fmin(least, side->runs[i]->median);
        for (int j = 0; j < side->runs[i]->count; j++)
            least = fmin(least, side->runs[i]->values[j]);
    }
    return least > 0;
}

bool side_is_zero(const struct side *side)
{
    for (int i = 0; i < side->count; i++) {
        if (side->runs[i]->median != 0)
            return false;
        for (int j = 0; j < side->runs[i]->count; j++)
            if (side->runs[i]->values[j] != 0)
                return false;
    }
    return true;
}

/* --- Locations of the runs --- */

int sides_fewest_repetitions(const struct side sides[SIDES])
{
    int fewest = INT_MAX;

    for (int i = 0; i < SIDES; i++)
        for (int j = 0; j < sides[i].count; j++) {
            int own = sides[i].runs[j]->count > 0 ? sides[i].runs[j]->count : 1;
            fewest = own < fewest ? own : fewest;
        }
    return fewest;
}

static enum status locate(struct side *side, int fewest, bool largest)
{
    side->mean = 0;
    for (int i = 0; i < side->count; i++) {
        struct location location =
            location_of(side->runs[i], fewest, largest, side->locations != NULL);
        if (isnan(location.log))
            FAIL(STATUS_OUT_OF_MEMORY, "no memory left for %d repetitions", side->runs[i]->count);
        if (side->locations != NULL)
            side->locations[i] = location;
        side->logs[i] = location.log;
        side->mean += location.log / side->count;
    }

    return STATUS_OK;
}

enum status sides_locate(struct side sides[SIDES], enum compare_place place, bool largest)
{
    int fewest = place == PLACE_MIDDLE ? 1 : sides_fewest_repetitions(sides);

    for (int i = 0; i < SIDES; i++) TRY(locate(&sides[i], fewest, largest));

    return STATUS_OK;
}

/* --- Their variance --- */

const char *compare_noise_name(enum compare_noise noise)
{
    static const char *const names[] = { "unknown", "repetitions", "runs", "rows", "stated" };

    return names[noise];
}

/* A relative variance estimated with some degrees of freedom. */
struct variance {
    double sum; /* of squares */
    double freedom;
};

static double variance_value(const struct variance *variance)
{
    return variance->freedom > 0 ? variance->sum / variance->freedom : NAN;
}

/* Adds a side to the variance between its runs, and to that within them. */
static void add_side(struct variance *between, struct variance *within, const struct side *side)
{
    for (int i = 0; i < side->count; i++) {
        const struct benchmark_row *run = side->runs[i];
        double distance = side->logs[i] - side->mean;
        between->sum += distance * distance;
        if (isnan(run->deviation))
            continue;
        within->sum += run->deviation * run->deviation * (run->repetitions - 1);
        within->freedom += run->repetitions - 1;
    }
    between->freedom += side->count > 0 ? side->count - 1 : 0;
}

/* The variance that the repetitions of the runs explain, as if every run were the first again; 0:
 * not known. */
static double variance_of_locations(const struct side sides[SIDES])
{
    double sum = 0;
    int known = 0;

    for (int side = 0; side < SIDES; side++)
        for (int i = 0; i < sides[side].count; i++) {
            double variance = sides[side].locations[i].variance;
            if (isnan(variance))
                continue;
            sum += variance;
            known++;
        }
    return known > 0 ? sum / known : 0;
}

/* Whether repetitions were made and each file's are all alike. */
static bool is_exact(const struct side *side)
{
    for (int i = 0; i < side->count; i++) {
        const struct benchmark_row *run = side->runs[i];
        if (run->count < 2)
            return false;
        for (int j = 1; j < run->count; j++)
            if (run->values[j] != run->values[0])
                return false;
    }
    return true;
}

struct side_noise sides_noise(const struct side sides[SIDES], const struct run_noise *runs,
                              double stated, bool is_count)
{
    struct side_noise noise = { .source = NOISE_UNKNOWN };
    struct variance between = { 0, 0 }, within = { 0, 0 };
    double chosen = NAN;

    for (int i = 0; i < SIDES; i++) add_side(&between, &within, &sides[i]);
    noise.within = sqrt(variance_value(&within));
    if (between.freedom > 0) {
        double least = variance_of_locations(sides);
        if (runs != NULL && runs->rows > 0) {
            noise.source = NOISE_ROWS;
            chosen = run_noise_variance(runs, sides[SIDE_BASE].logs, sides[SIDE_BASE].count,
                                        sides[SIDE_NEW].count, least, &noise.freedom);
        } else {
            /* The degrees of freedom stay: that few runs agree by luck does not make them many. */
            noise.source = NOISE_RUNS;
            chosen = fmax(least, variance_value(&between));
            noise.freedom = between.freedom;
        }
    } else if (is_count && is_exact(&sides[SIDE_BASE]) && is_exact(&sides[SIDE_NEW])) {
        noise.source = NOISE_REPETITIONS;
        chosen = 0;
        noise.freedom = within.freedom;
    } else if (!isnan(stated)) {
        noise.source = NOISE_REPETITIONS;
        chosen = fmax(variance_of_locations(sides), runs != NULL ? pow(runs->alone, 2) : 0);
        noise.freedom = within.freedom > 0 ? within.freedom : INFINITY;
    }
    noise.run = sqrt(chosen);
    if (!isnan(stated) && !(noise.run >= stated)) {
        noise.source = NOISE_STATED;
        noise.run = stated;
        noise.freedom = INFINITY;
    }
    return noise;
}

/* --- The difference of the sides --- */

/* When one run of n is odd and the others are like those of the other side, half of their pairs are
 * against: (n - 1) / 2n of all, a third with three runs per side. */
#define OVERLAP_MOST 0.25

int side_repetitions(const struct side *side)
{
    int count = 0;

    for (int i = 0; i < side->count; i++) count += side->runs[i]->count;
    return count;
}

bool sides_overlap(const struct side sides[SIDES])
{
    const struct side *base = &sides[SIDE_BASE], *after = &sides[SIDE_NEW];
    double way = after->mean - base->mean, against = 0;

    for (int i = 0; i < base->count; i++)
        for (int j = 0; j < after->count; j++) {
            double step = (after->logs[j] - base->logs[i]) * way;
            against += step < 0 ? 1 : step > 0 ? 0 : 0.5;
        }
    return against > OVERLAP_MOST * base->count * after->count;
}

bool sides_rest_on_one(const struct side sides[SIDES])
{
    double way = sides[SIDE_NEW].mean - sides[SIDE_BASE].mean;

    for (int i = 0; i < SIDES; i++)
        for (int j = 0; j < sides[i].count && sides[i].count > 1; j++) {
            double moves = (sides[i].mean - sides[i].logs[j]) / (sides[i].count - 1);
            if ((way + (i == SIDE_NEW ? moves : -moves)) / way < 0.5)
                return true;
        }
    return false;
}
