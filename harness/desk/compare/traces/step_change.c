/* Parts of both steps are matched by kind and name and rounded so that they sum to the step. Their
 * noise is that of blocks of steps, and the device's pace is taken out of computation before a part
 * may stand out. */
#include "harness/desk/compare/traces/trace_change.h"

#include "harness/base/figures/statistics.h"
#include "harness/base/figures/student.h"
#include "harness/base/sort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double CHANCE = 0.01, INTERVAL = 0.05;

/* To a standard deviation, of normal values (Hampel, J. Amer. Statist. Assoc. 69, 1974). */

struct making {
    struct arena *scratch;
    struct step_change *change;
    const struct time_parts *sides;
    const struct summary *const *summaries;
    double units[SIDES]; /* steps, or samples */
};

/* A part on both sides. */
struct match {
    const struct time_part *part[SIDES]; /* NULL: not there */
};

/* --- Units --- */

/* Samples per step as the trace states them; NaN: it does not. */
static double samples_of(const struct summary *summary)
{
    const struct trace_file *trace = summary->trace;
    double sum = 0;

    for (int64_t i = 0; i < summary->steps.count; i++) {
        const struct trace_event *event = summary->steps.items[i].event;
        int32_t detail = event->kind == EVENT_KIND_ANNOTATION ? event->detail : NO_DETAIL;
        if (detail == NO_DETAIL || trace->steps[detail].samples <= 0)
            return NAN;
        sum += (double)trace->steps[detail].samples;
    }
    return summary->steps.count > 0 ? sum / (double)summary->steps.count : NAN;
}

static void find_units(struct making *making)
{
    struct step_change *change = making->change;

    for (int side = 0; side < SIDES; side++) {
        change->steps[side] = making->sides[side].step_count;
        change->samples[side] = samples_of(making->summaries[side]);
    }
    change->per_sample = !isnan(change->samples[SIDE_BASE]) && !isnan(change->samples[SIDE_NEW]) &&
                         fabs(change->samples[SIDE_BASE] - change->samples[SIDE_NEW]) > 0.5;
    for (int side = 0; side < SIDES; side++)
        making->units[side] =
            (double)change->steps[side] * (change->per_sample ? change->samples[side] : 1);
}

/* --- Matching --- */

static const struct time_part *find_like(const struct time_parts *parts,
                                         const struct time_part *like)
{
    for (int64_t i = 0; i < parts->count; i++)
        if (parts->items[i].kind == like->kind && strcmp(parts->items[i].name, like->name) == 0)
            return &parts->items[i];
    return NULL;
}

static int64_t match_parts(struct match *matches, const struct time_parts sides[SIDES])
{
    int64_t count = 0;

    for (int64_t i = 0; i < sides[SIDE_BASE].count; i++)
        matches[count++] =
            (struct match){ { &sides[SIDE_BASE].items[i],
                              find_like(&sides[SIDE_NEW], &sides[SIDE_BASE].items[i]) } };
    for (int64_t i = 0; i < sides[SIDE_NEW].count; i++)
        if (find_like(&sides[SIDE_BASE], &sides[SIDE_NEW].items[i]) == NULL)
            matches[count++] = (struct match){ { NULL, &sides[SIDE_NEW].items[i] } };
    return count;
}

static void describe_part(struct making *making, struct part_change *row, const struct match *match)
{
    const struct time_part *any =
        match->part[SIDE_BASE] != NULL ? match->part[SIDE_BASE] : match->part[SIDE_NEW];

    *row = (struct part_change){ .kind = any->kind, .name = any->name };
    for (int side = 0; side < SIDES; side++) {
        const struct time_part *part = match->part[side];
        if (part == NULL)
            continue;
        row->count[side] = (double)part->count / making->units[side];
        if (part->kind == PART_COMPUTATION && part->kernel != 0)
            row->kernels[side] = trace_file_name(making->summaries[side]->trace, part->kernel);
    }
}

/* --- Exact sums --- */

/* A part's share of a unit, and what rounding down took from it. */
struct rounded {
    int64_t row;
    double lost;
};

COMPARATOR(by_lost, struct rounded, DESCENDING(lost) ?: ASCENDING(row))

/* Rounds each part's time per unit so that they sum to the step's. */
static void round_side(struct making *making, const struct match *matches, int side)
{
    struct step_change *change = making->change;
    struct rounded *rounded = ARENA_NEW(making->scratch, struct rounded, change->count);
    int64_t left = llround((double)making->sides[side].window_ns / making->units[side]);

    change->step_ns[side] = left;
    for (int64_t i = 0; i < change->count; i++) {
        const struct time_part *part = matches[i].part[side];
        double ns = part != NULL ? (double)part->total_ns / making->units[side] : 0;
        change->parts[i].ns[side] = (int64_t)floor(ns);
        rounded[i] = (struct rounded){ i, ns - floor(ns) };
        left -= change->parts[i].ns[side];
    }
    qsort(rounded, (size_t)change->count, sizeof *rounded, by_lost);
    for (int64_t i = 0; i < left && i < change->count; i++)
        change->parts[rounded[i].row].ns[side]++;
}

/* --- Noise --- */

/* A side's mean per unit by blocks of steps. */
struct block_means {
    double values[STEP_BLOCKS];
    int count;
    double mean, variance; /* of the mean */
};

static struct block_means blocks_of(const struct making *making, const struct match *match,
                                    int side)
{
    const struct time_part *part = match->part[side];
    int64_t steps = making->change->steps[side];
    struct block_means blocks = { .count = steps < STEP_BLOCKS ? (int)steps : STEP_BLOCKS };
    double per_step = making->units[side] / (double)steps, deviation;

    if (part == NULL)
        return blocks;
    for (int i = 0; i < blocks.count; i++) {
        int64_t from = i * steps / blocks.count, until = (i + 1) * steps / blocks.count;
        for (int64_t step = from; step < until; step++)
            blocks.values[i] += (double)part->step_ns[step];
        blocks.values[i] /= (double)(until - from) * per_step;
    }
    deviation = stats_deviation(blocks.values, blocks.count);
    blocks.mean = (double)part->total_ns / making->units[side];
    blocks.variance = deviation * deviation / blocks.count;
    return blocks;
}

/* The degrees of freedom of a sum of two variances (Welch, Biometrika 34, 1947). */
static double welch(const struct block_means sides[SIDES], double variance)
{
    double sum = 0;

    for (int side = 0; side < SIDES; side++)
        sum += sides[side].variance * sides[side].variance / (sides[side].count - 1);
    return sum > 0 ? variance * variance / sum : sides[SIDE_BASE].count + sides[SIDE_NEW].count - 2;
}

/* Twice the mean rank of a value among `count` sorted ones. */
static int doubled_rank(const double *sorted, int count, double value)
{
    int below = 0, equal = 0;

    for (int i = 0; i < count; i++) {
        below += sorted[i] < value;
        equal += sorted[i] == value;
    }
    return 2 * below + equal + 1;
}

/* The probability that ranks of blocks differ as much by chance, both ways together, in the
 * direction of the means; 1 in the other one. Every choice of base's blocks among all of them is as
 * likely; they are counted by their sum of ranks. Base's values are scaled by `pace`. */
static double rank_probability(const struct block_means sides[SIDES], double pace)
{
    enum { ALL = SIDES * STEP_BLOCKS, SUMS = ALL * (ALL + 1) + 1 };
    double ways[STEP_BLOCKS + 1][SUMS];
    const struct block_means *base = &sides[SIDE_BASE], *new = &sides[SIDE_NEW];
    double sorted[ALL], low = 0, high = 0, all = 0;
    int count = 0, sum = 0;

    for (int i = 0; i < base->count; i++) sorted[count++] = base->values[i] * pace;
    for (int i = 0; i < new->count; i++) sorted[count++] = new->values[i];
    stats_sort(sorted, count);
    for (int i = 0; i < base->count; i++)
        sum += doubled_rank(sorted, count, base->values[i] * pace);
    memset(ways, 0, sizeof ways);
    ways[0][0] = 1;
    for (int i = 0; i < count; i++) {
        int rank = doubled_rank(sorted, count, sorted[i]);
        for (int chosen = base->count; chosen > 0; chosen--)
            for (int at = SUMS - 1; at >= rank; at--)
                ways[chosen][at] += ways[chosen - 1][at - rank];
    }
    for (int at = 0; at < SUMS; at++) {
        all += ways[base->count][at];
        low += at <= sum ? ways[base->count][at] : 0;
        high += at >= sum ? ways[base->count][at] : 0;
    }
    return fmin(1, 2 * (new->mean > pace * base->mean ? low : high) / all);
}

/* The change's interval; and the probability of its distance from what `pace` makes of base, where
 * runs differ by `spread_ns` beside what steps do. */
static void find_noise(const struct making *making, struct part_change *row,
                       const struct match *match, double pace, double spread_ns)
{
    struct block_means sides[SIDES] = { blocks_of(making, match, SIDE_BASE),
                                        blocks_of(making, match, SIDE_NEW) };
    double variance = sides[SIDE_BASE].variance + sides[SIDE_NEW].variance;
    double freedom = welch(sides, variance);
    double change_ns = sides[SIDE_NEW].mean - sides[SIDE_BASE].mean;
    double reach_ns = student_critical(INTERVAL, freedom) * sqrt(variance);
    double apart_ns = fabs(sides[SIDE_NEW].mean - pace * sides[SIDE_BASE].mean);
    double all = variance + spread_ns * spread_ns, welch_probability;

    row->low_ns = change_ns - reach_ns;
    row->high_ns = change_ns + reach_ns;
    if (all > 0)
        welch_probability = student_two_sided(apart_ns / sqrt(all), freedom);
    else
        welch_probability = apart_ns > 0 ? 0 : 1;
    row->probability = fmin(1, 2 * fmin(welch_probability, spread_ns > 0 && apart_ns < 3 * spread_ns
                                                               ? 1
                                                               : rank_probability(sides, pace)));
}

/* --- The pace of the device --- */

/* Whether both sides compute it, and it is large enough to tell. */
static bool tells_pace(const struct making *making, const struct match *match,
                       const double sums_ns[SIDES])
{
    for (int side = 0; side < SIDES; side++)
        if (match->part[side] == NULL || match->part[side]->kind != PART_COMPUTATION ||
            (double)match->part[side]->total_ns / making->units[side] <
                PACE_PART_LEAST * sums_ns[side])
            return false;
    return true;
}

/* Whether another kernel takes most of it. */
static bool has_other_kernel(const struct part_change *part)
{
    const char *const *kernels = part->kernels;

    return kernels[SIDE_BASE] != NULL && kernels[SIDE_NEW] != NULL &&
           strcmp(kernels[SIDE_BASE], kernels[SIDE_NEW]) != 0;
}

/* Blocks of all kernels' grids, per unit; NaN: not known. */
static double blocks_of_side(const struct making *making, int side)
{
    const struct steps *steps = &making->summaries[side]->steps;
    double sum = 0;

    for (int64_t i = 0; i < steps->count; i++) sum += (double)steps->items[i].blocks;
    return sum > 0 ? sum / making->units[side] : NAN;
}

static void find_pace(struct making *making, const struct match *matches)
{
    struct step_change *change = making->change;
    struct device_pace *pace = &change->pace;
    double *logs = ARENA_NEW(making->scratch, double, change->count), sums_ns[SIDES] = { 0 };
    struct stats_bulk bulk;
    int others = 0;

    for (int64_t i = 0; i < change->count; i++)
        for (int side = 0; side < SIDES; side++)
            if (change->parts[i].kind == PART_COMPUTATION)
                sums_ns[side] += (double)change->parts[i].ns[side];
    for (int64_t i = 0; i < change->count; i++)
        if (tells_pace(making, &matches[i], sums_ns)) {
            const struct time_part *const *part = matches[i].part;
            logs[pace->parts++] =
                log(((double)part[SIDE_NEW]->total_ns / making->units[SIDE_NEW]) /
                    ((double)part[SIDE_BASE]->total_ns / making->units[SIDE_BASE]));
            others += has_other_kernel(&change->parts[i]);
        }
    if (pace->parts < PACE_PARTS_LEAST) {
        pace->parts = 0;
        return;
    }
    bulk = stats_bulk(logs, pace->parts);
    pace->factor = exp(bulk.median);
    pace->spread = bulk.deviation;
    if (pace->spread > PACE_SPREAD_MOST) {
        pace->parts = 0;
        return;
    }
    pace->blocks = blocks_of_side(making, SIDE_NEW) / blocks_of_side(making, SIDE_BASE);
    pace->other_work = change->per_sample || 2 * others >= pace->parts ||
                       fabs(log(pace->blocks)) >= log(1 + STEP_CHANGE_LEAST);
    pace->change_ns = llround(sums_ns[SIDE_BASE] * (pace->factor - 1));
}

/* --- Parts that stand out --- */

COMPARATOR(by_probability, struct part_change, ASCENDING(probability))

COMPARATOR(by_change, struct part_change,
           COMPARE(llabs(b->change_ns), llabs(a->change_ns)) ?: ASCENDING(kind)
           ?: strcmp(a->name, b->name))

/* Whether a change of the part can be large enough. */
static bool can_matter(const struct part_change *part, double least_ns)
{
    return fmax((double)part->ns[SIDE_BASE], (double)part->ns[SIDE_NEW]) >= least_ns;
}

/* Holm's adjustment: of n parts that can matter the k-th smallest counts n - k + 1 times, and no
 * less than the one before it. */
static void adjust(struct step_change *change, double least_ns)
{
    double least = 0;
    int64_t left = 0;

    qsort(change->parts, (size_t)change->count, sizeof *change->parts, by_probability);
    for (int64_t i = 0; i < change->count; i++) left += can_matter(&change->parts[i], least_ns);
    for (int64_t i = 0; i < change->count; i++) {
        struct part_change *part = &change->parts[i];
        if (!can_matter(part, least_ns)) {
            part->probability = NAN;
            continue;
        }
        least = fmax(least, fmin(part->probability * (double)left--, 1));
        part->probability = least;
    }
}

static void judge_parts(struct step_change *change)
{
    double longer_ns = (double)(change->step_ns[SIDE_BASE] > change->step_ns[SIDE_NEW]
                                    ? change->step_ns[SIDE_BASE]
                                    : change->step_ns[SIDE_NEW]);
    double least_ns = STEP_CHANGE_LEAST * longer_ns;
    struct device_pace *pace = &change->pace;

    if (!change->has_noise)
        return;
    change->differs = fabs((double)change->change_ns) >=
                      STEP_LEAST * (longer_ns - fabs((double)change->change_ns));
    adjust(change, least_ns);
    for (int64_t i = 0; i < change->count; i++) {
        struct part_change *row = &change->parts[i];
        row->stands_out = change->differs && row->probability < CHANCE &&
                          fabs((double)row->change_ns) >= least_ns;
    }
    pace->stands_out = change->differs && pace->parts > 0 && pace->other_work &&
                       fabs(log(pace->factor)) >= log(1 + PACE_LEAST) &&
                       fabs(log(pace->factor)) > 3 * pace->spread / sqrt(pace->parts) &&
                       fabs((double)pace->change_ns) >= least_ns;
}

static void find_noises(struct making *making, const struct match *matches)
{
    struct step_change *change = making->change;

    change->has_noise = change->steps[SIDE_BASE] >= STEP_BLOCKS_LEAST &&
                        change->steps[SIDE_NEW] >= STEP_BLOCKS_LEAST;
    for (int64_t i = 0; i < change->count; i++) {
        struct part_change *row = &change->parts[i];
        bool paced = row->kind == PART_COMPUTATION && change->pace.parts > 0;
        double pace = paced ? change->pace.factor : 1;
        double spread_ns = paced ? (double)row->ns[SIDE_BASE] * change->pace.spread : 0;
        row->low_ns = row->high_ns = row->probability = NAN;
        if (change->has_noise)
            find_noise(making, row, &matches[i], pace, spread_ns);
    }
}

struct step_change step_change_of(struct arena *arena, const struct time_parts sides[SIDES],
                                  const struct summary *const summaries[SIDES])
{
    int64_t room = sides[SIDE_BASE].count + sides[SIDE_NEW].count;
    SCRATCH_ARENA(scratch, arena);
    struct match *matches = ARENA_NEW(scratch, struct match, room);
    struct step_change change = { .parts = ARENA_NEW(arena, struct part_change, room) };
    struct making making = {
        .scratch = scratch, .change = &change, .sides = sides, .summaries = summaries
    };

    find_units(&making);
    change.count = match_parts(matches, sides);
    for (int64_t i = 0; i < change.count; i++)
        describe_part(&making, &change.parts[i], &matches[i]);
    for (int side = 0; side < SIDES; side++) round_side(&making, matches, side);
    change.change_ns = change.step_ns[SIDE_NEW] - change.step_ns[SIDE_BASE];
    for (int64_t i = 0; i < change.count; i++)
        change.parts[i].change_ns = change.parts[i].ns[SIDE_NEW] - change.parts[i].ns[SIDE_BASE];
    find_pace(&making, matches);
    find_noises(&making, matches);
    judge_parts(&change);
    qsort(change.parts, (size_t)change.count, sizeof *change.parts, by_change);
    return change;
}

void step_change_withdraw(struct step_change *change)
{
    change->differs = change->pace.stands_out = false;
    for (int64_t i = 0; i < change->count; i++) change->parts[i].stands_out = false;
}
