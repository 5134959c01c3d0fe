/* A row goes through three steps: its runs become logarithms and a noise (row_sides.h), those
 * become a difference with an error, and that becomes a verdict with a reason where the verdict
 * does not say all. */
#include "harness/desk/compare/compared_row.h"

#include "harness/base/figures/student.h"
#include "harness/base/rows.h"
#include "harness/base/status.h"
#include "harness/base/words/text.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- Which way is better, by a name --- */

/* A name is split into words, and each looked up in lists of costs, of words that turn a cost into
 * something good, and of units of time after "per". */

/* Each also with an s at its end. */
static const char *const costs[] = {
    "time",     "latency",   "latencies", "duration", "delay",      "wait",     "pause",
    "ns",       "us",        "ms",        "cycle",    "byte",       "memory",   "rss",
    "heap",     "alloc",     "malloc",    "launch",   "allocation", "launches", "sync",
    "copy",     "copies",    "capture",   "miss",     "misses",     "fault",    "failure",
    "error",    "overhead",  "stall",     "padding",  "late",       "reserved", "skipped",
    "syscall",  "variation", "dropped",   "retries",  "collective", "retry",    "instruction",
    "conflict", "barrier",
};

/* With one of these, a word of a cost says nothing: "memory_bandwidth", "bytes_saved",
 * "miss_rate". */
static const char *const turns[] = {
    "rate",        "throughput", "bandwidth", "speed", "speedup", "efficiency",
    "utilization", "occupancy",  "hit",       "saved", "free",    "reuse",
    "available",   "headroom",   "flight",    "score", "overlap", "ratio",
};

/* After "per", these make a rate: "instructions_per_cycle". */
static const char *const clocks[] = { "s",  "sec", "second", "min",   "minute", "hour",
                                      "ms", "us",  "ns",     "cycle", "clock" };

struct word {
    const char *text;
    size_t length;
};

static bool is_one_of(struct word word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t own = strlen(list[i]);
        if (word.length >= own && strncasecmp(word.text, list[i], own) == 0 &&
            (word.length == own ||
             (word.length == own + 1 && tolower((unsigned char)word.text[own]) == 's')))
            return true;
    }
    return false;
}

/* The word that begins at `at`: letters of one case, or a large one and small ones. */
static struct word word_at(const char *at)
{
    const char *end = at + 1;

    if (isupper((unsigned char)at[0]) && isupper((unsigned char)at[1]))
        while (isupper((unsigned char)*end)) end++;
    else
        while (islower((unsigned char)*end)) end++;
    return (struct word){ at, (size_t)(end - at) };
}

enum metric_says metric_name_says(const char *metric)
{
    static const char *const per[] = { "per" };
    bool is_cost = false, is_turned = strstr(metric, "/s") != NULL, is_after_per = false;

    if (ends_in(metric, "_per_second"))
        return METRIC_IS_RATE;
    for (const char *at = metric; *at != '\0';) {
        struct word word = { at, 1 };
        if (isalpha((unsigned char)*at)) {
            word = word_at(at);
            is_cost = is_cost || is_one_of(word, costs, ARRAY_SIZE(costs));
            is_turned = is_turned || is_one_of(word, turns, ARRAY_SIZE(turns)) ||
                        (is_after_per && is_one_of(word, clocks, ARRAY_SIZE(clocks)));
            is_after_per = is_one_of(word, per, ARRAY_SIZE(per));
        }
        at += word.length;
    }
    return is_cost && !is_turned ? METRIC_IS_COST : METRIC_SAYS_NOTHING;
}

static const double chance_alarm[PLACES] = {
    [PLACE_BEST] = COMPARE_ALARM, [PLACE_MIDDLE] = 0.01 - COMPARE_ALARM
};

#define CHANCE_INTERVAL 0.05 /* chance that the interval misses the truth */
#define CHANCE_WITH_ALL 0.05 /* chance of an alarm of a row that moved as all rows together did */

const char *compare_verdict_name(enum compare_verdict verdict)
{
    static const char *const names[] = { "faster",     "same",    "slower", "undecided",
                                         "other work", "missing", "new",    "not measured" };

    return names[verdict];
}

bool compare_is_common(enum compare_verdict verdict)
{
    return verdict <= COMPARE_UNDECIDED;
}

enum better compare_better(const struct compare_rule *rule)
{
    static const enum better by_name[] = { [METRIC_SAYS_NOTHING] = BETTER_BY_NAME,
                                           [METRIC_IS_COST] = BETTER_SMALLER,
                                           [METRIC_IS_RATE] = BETTER_LARGER };

    return rule->better != BETTER_BY_NAME ? rule->better : by_name[metric_name_says(rule->metric)];
}

bool compare_larger_is_better(const struct compare_rule *rule)
{
    return compare_better(rule) == BETTER_LARGER;
}

double compare_shows(double between, double freedom, int runs, double limit)
{
    if (!(freedom > 0))
        return INFINITY;
    return student_shows(student_critical(COMPARE_ALARM, freedom), between * sqrt(2.0 / runs),
                         limit, STUDENT_LUCK_5);
}

int compare_runs_needed(double between, double target, double limit)
{
    int few = 2, enough = RUNS_MOST + 1; /* More runs never need less. */

    while (enough - few > 1) {
        int runs = (few + enough) / 2;
        if (compare_shows(between, 2 * (runs - 1), runs, limit) <= target)
            enough = runs;
        else
            few = runs;
    }
    return enough;
}

const char *compare_noise_words(enum compare_noise noise)
{
    static const char *const words[] = {
        [NOISE_UNKNOWN] = "",
        [NOISE_REPETITIONS] = "more than is stated: these files show that runs vary by",
        [NOISE_RUNS] = "runs of one side vary by",
        [NOISE_ROWS] = "runs of one side vary by",
        [NOISE_STATED] = "runs are said to vary by",
    };

    return words[noise];
}

static void explain_undecided(struct compared_row *row, double reach, double limit)
{
    double target = 2 * limit;

    if (row->noise == NOISE_UNKNOWN) {
        row->lacks_runs = true;
        snprintf(row->reason, sizeof row->reason,
                 "one file per side shows no run-to-run noise: give three per side, or --noise");
        return;
    }
    if (isinf(reach)) {
        snprintf(row->reason, sizeof row->reason, "the noise is not a number");
        return;
    }
    row->shows = expm1(reach);
    text_append(row->reason, sizeof row->reason, "%s %.1f%%: only changes above %.1f%% would show",
                compare_noise_words(row->noise), 100 * row->between, 100 * row->shows);
    if ((row->noise != NOISE_RUNS && row->noise != NOISE_ROWS) || !(limit > 0))
        return;
    row->runs_needed = compare_runs_needed(row->between, target, limit);
    text_append(row->reason, sizeof row->reason,
                row->runs_needed > RUNS_MOST
                    ? "; a change of %.0f%% would take more than %d runs per side"
                    : "; a change of %.0f%% would take %d runs per side",
                100 * expm1(target), row->runs_needed > RUNS_MOST ? RUNS_MOST : row->runs_needed);
}

/* The verdict on a row that moved. */
static void call(struct compared_row *row, bool larger, const struct compare_rule *rule)
{
    enum better better = compare_better(rule);

    row->verdict = better == BETTER_BY_NAME              ? COMPARE_UNDECIDED
                   : larger == (better == BETTER_LARGER) ? COMPARE_FASTER
                                                         : COMPARE_SLOWER;
    row->lacks_better = better == BETTER_BY_NAME;
    if (row->lacks_better)
        snprintf(row->reason, sizeof row->reason,
                 "it moved, but the name of %.60s does not say which way is better: give --better",
                 rule->metric);
}

/* The difference of the sides, all as logarithms, and how it may be called a change. */
struct difference {
    double change, error, freedom;
    double chance; /* of an alarm by noise alone */
    bool overlap, rests_on_one;
};

/* If the rows as a whole moved, one that moved the same way needs no more than the usual chance of
 * statistics. With one file per side nobody saw the noise, so all rows share the chance. */
static double chance_of(const struct compared_row *row, double change, const struct run_noise *runs,
                        const struct compare_rule *rule)
{
    int moved = runs != NULL ? run_noise_moved(runs, row->runs[SIDE_BASE], row->runs[SIDE_NEW],
                                               rule->noise, log1p(rule->threshold))
                             : 0;

    if (row->place == PLACE_BEST && change * moved > 0)
        return CHANCE_WITH_ALL;
    return chance_alarm[row->place] /
           (row->runs[SIDE_BASE] == 1 && row->runs[SIDE_NEW] == 1 ? fmax(rule->rows, 1) : 1);
}

/* A count that is the same in all repetitions has no odd run. */
static bool rests_on_one(const struct side sides[SIDES], const struct side_noise *noise,
                         const struct run_noise *runs, double limit)
{
    double change = sides[SIDE_NEW].mean - sides[SIDE_BASE].mean;

    if (noise->run == 0)
        return false;
    if (sides[SIDE_BASE].count > 1 && sides[SIDE_NEW].count > 1)
        return sides_rest_on_one(sides);
    return (runs != NULL && !(runs->most * change > 0 && fabs(runs->most) > limit)) ||
           sides_rest_on_one(sides);
}

static void judge_difference(struct compared_row *row, const struct difference *difference,
                             const struct compare_rule *rule)
{
    const double change = difference->change, limit = log1p(rule->threshold);
    double reach, margin;

    row->verdict = COMPARE_UNDECIDED;
    if (row->noise == NOISE_UNKNOWN) {
        row->low = row->high = NAN;
        explain_undecided(row, NAN, limit);
        return;
    }
    margin = student_critical(CHANCE_INTERVAL, difference->freedom) * difference->error;
    reach = student_critical(difference->chance, difference->freedom) * difference->error;
    row->low = expm1(change - margin);
    row->high = expm1(change + margin);
    if (change - margin >= -limit && change + margin <= limit)
        row->verdict = COMPARE_SAME;
    else if (!(fabs(change) > limit && fabs(change) > reach))
        explain_undecided(row, fmax(reach, limit), limit);
    else if (difference->overlap)
        snprintf(
            row->reason, sizeof row->reason,
            "%+.1f%%, but the runs of the two sides overlap: a few outlying runs are not a change",
            100 * expm1(change));
    else if (difference->rests_on_one)
        snprintf(row->reason, sizeof row->reason,
                 "%+.1f%%, but it rests on one run, which may be an odd one%s: give three files "
                 "per side",
                 100 * expm1(change),
                 row->runs[SIDE_BASE] > 1 && row->runs[SIDE_NEW] > 1
                     ? ""
                     : ", since most rows did not move so");
    else
        call(row, change > 0, rule);
}

/* Zero has no ratio. Two all-zero sides are equal; all-zero against all-positive is a clear
 * change. */
static void judge_with_zeros(struct compared_row *row, const struct side sides[SIDES],
                             const struct compare_rule *rule)
{
    bool none[SIDES];

    for (int i = 0; i < SIDES; i++) {
        double sum = 0;
        for (int j = 0; j < sides[i].count; j++) sum += sides[i].runs[j]->median;
        row->value[i] = sum / sides[i].count;
        none[i] = side_is_zero(&sides[i]);
    }
    row->change =
        row->value[SIDE_NEW] == row->value[SIDE_BASE]
            ? 0
            : (row->value[SIDE_NEW] - row->value[SIDE_BASE]) / fabs(row->value[SIDE_BASE]);
    row->verdict = COMPARE_UNDECIDED;
    if (none[SIDE_BASE] && none[SIDE_NEW])
        row->verdict = COMPARE_SAME;
    else if (none[SIDE_BASE] && side_is_positive(&sides[SIDE_NEW]))
        call(row, true, rule);
    else if (none[SIDE_NEW] && side_is_positive(&sides[SIDE_BASE]))
        call(row, false, rule);
    else
        snprintf(row->reason, sizeof row->reason,
                 "some values are 0 or negative, so they have no ratio");
}

/* No value is 0. */
static enum status compare_at(struct compared_row *row, enum compare_place place,
                              struct side sides[SIDES], const struct run_noise *runs,
                              const struct compare_rule *rule)
{
    const struct side *base = &sides[SIDE_BASE], *after = &sides[SIDE_NEW];
    struct difference difference;
    struct side_noise noise;

    TRY(sides_locate(sides, place, compare_larger_is_better(rule)));
    for (int i = 0; i < SIDES; i++) row->value[i] = exp(sides[i].mean);
    row->place = place;
    row->change = row->value[SIDE_NEW] / row->value[SIDE_BASE] - 1;
    noise = sides_noise(sides, runs, rule->noise, !benchmark_metric_is_time(rule->metric));
    row->noise = noise.source;
    row->between = noise.run;
    row->within = noise.within;
    difference = (struct difference){
        .change = after->mean - base->mean,
        .error = noise.run * sqrt(1.0 / base->count + 1.0 / after->count),
        .freedom = noise.freedom,
        .chance = chance_of(row, after->mean - base->mean, runs, rule),
        .overlap = sides_overlap(sides),
        .rests_on_one = rests_on_one(sides, &noise, runs, log1p(rule->threshold)),
    };
    judge_difference(row, &difference, rule);

    return STATUS_OK;
}

static bool is_called(const struct compared_row *row)
{
    return row->verdict == COMPARE_SLOWER || row->verdict == COMPARE_FASTER || row->lacks_better;
}

/* The middle's verdict in place of the best's, where it is one. */
static void prefer_middle(struct compared_row *row, struct compared_row *middle)
{
    if (!is_called(middle))
        return;
    if (!middle->lacks_better)
        snprintf(middle->reason, sizeof middle->reason,
                 "the median of the repetitions moved; the best of them by %+.1f%% (%s)",
                 100 * row->change, compare_verdict_name(row->verdict));
    *row = *middle;
}

enum status compare_runs(struct compared_row *row, const struct benchmark_row *const *base,
                         int base_count, const struct benchmark_row *const *after, int after_count,
                         const struct run_noise *noise, const struct compare_rule *rule)
{
    enum status status = STATUS_OK;
    struct compared_row middle;
    double *logs = NULL;
    struct location *locations = NULL;
    struct side sides[SIDES];

    TRY_OUT(rows_make(&logs, base_count + after_count));
    TRY_OUT(rows_make(&locations, base_count + after_count));
    sides[SIDE_BASE] = (struct side){ base, base_count, locations, logs, 0 };
    sides[SIDE_NEW] =
        (struct side){ after, after_count, locations + base_count, logs + base_count, 0 };
    row->runs[SIDE_BASE] = base_count;
    row->runs[SIDE_NEW] = after_count;
    row->change = row->low = row->high = row->within = row->between = NAN;
    row->place = PLACE_BEST;
    row->reason[0] = '\0';
    for (int i = 0; i < SIDES; i++) row->repetitions[i] = side_repetitions(&sides[i]);
    row->best_of = sides_fewest_repetitions(sides);
    row->shows = NAN;
    row->runs_needed = 0;
    row->lacks_runs = row->lacks_better = row->is_beyond = false;
    if (!(side_is_positive(&sides[SIDE_BASE]) && side_is_positive(&sides[SIDE_NEW]))) {
        judge_with_zeros(row, sides, rule);
        goto out;
    }
    middle = *row;
    if (compare_better(rule) == BETTER_BY_NAME) { /* nobody says which repetition is the best */
        TRY_OUT(compare_at(row, PLACE_MIDDLE, sides, noise != NULL ? &noise[PLACE_MIDDLE] : NULL,
                           rule));
        goto out;
    }
    TRY_OUT(compare_at(row, PLACE_BEST, sides, noise != NULL ? &noise[PLACE_BEST] : NULL, rule));
    if (!is_called(row) && row->best_of > 1) {
        TRY_OUT(compare_at(&middle, PLACE_MIDDLE, sides,
                           noise != NULL ? &noise[PLACE_MIDDLE] : NULL, rule));
        prefer_middle(row, &middle);
    }

out:
    row->is_beyond = row->verdict == COMPARE_UNDECIDED && !row->lacks_better &&
                     !(fabs(log1p(row->change)) <= log1p(rule->threshold));
    free(logs);
    free(locations);
    return status;
}
