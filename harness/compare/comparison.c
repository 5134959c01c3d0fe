#include "harness/compare/comparison.h"

#include "harness/compare/location.h"
#include "harness/compare/student.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* That noise alone is called a change, by the best repetitions and by the median: together 0.01. */
static const double chance_alarm[PLACES] = { [PLACE_BEST] = 0.008, [PLACE_MIDDLE] = 0.002 };

#define CHANCE_INTERVAL 0.05 /* that the interval misses the truth */
#define CHANCE_RANKS    0.05
#define CHANCE_RUNS     0.1001 /* three runs a side: exactly 0.1 at best */

enum { RUNS_MAX = 100 }; /* that anybody would be told to make */

const char *compare_verdict_name(enum compare_verdict verdict)
{
    static const char *const names[] = { "faster",  "same", "slower",      "undecided",
                                         "missing", "new",  "not measured" };

    return names[verdict];
}

const char *compare_noise_name(enum compare_noise noise)
{
    static const char *const names[] = { "unknown", "repetitions", "runs", "rows", "stated" };

    return names[noise];
}

bool compare_larger_is_better(const struct compare_rule *rule)
{
    static const char ending[] = "_per_second";
    size_t length = strlen(rule->metric), end = sizeof ending - 1;

    if (rule->better != BETTER_BY_NAME)
        return rule->better == BETTER_LARGER;
    return length > end && strcmp(rule->metric + length - end, ending) == 0;
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

/* The runs of one side. */
struct side {
    const struct benchmark_row *const *runs;
    int count;
    const struct location *locations;
    const double *logs; /* of the locations; those of new follow those of base */
    double mean;        /* of the logarithms */
};

static void side_mean(struct side *side)
{
    side->mean = 0;
    for (int i = 0; i < side->count; i++) side->mean += side->logs[i] / side->count;
}

/* A run with one repetition, or whose file holds aggregates only, counts as 1. */
static int fewest_repetitions(const struct benchmark_row *const *runs, int count, int fewest)
{
    for (int i = 0; i < count; i++) {
        int own = runs[i]->count > 0 ? runs[i]->count : 1;
        fewest = own < fewest ? own : fewest;
    }
    return fewest;
}

/* Of base's runs and then of new's; `locations` may be NULL. */
static enum status locate(struct location *locations, double *logs,
                          const struct benchmark_row *const *base, int base_count,
                          const struct benchmark_row *const *after, int after_count,
                          enum compare_place place, bool largest)
{
    enum status status = STATUS_OK;
    int fewest = fewest_repetitions(base, base_count, INT_MAX);

    fewest = place == PLACE_MIDDLE ? 1 : fewest_repetitions(after, after_count, fewest);
    for (int i = 0; i < base_count + after_count; i++) {
        const struct benchmark_row *run = i < base_count ? base[i] : after[i - base_count];
        struct location location = location_of(run, fewest, largest);
        if (isnan(location.log))
            FAIL(STATUS_OUT_OF_MEMORY, "no memory left for %d repetitions", run->count);
        if (locations != NULL)
            locations[i] = location;
        logs[i] = location.log;
    }

out:
    return status;
}

static void add_between(struct variance *variance, const struct side *side)
{
    for (int i = 0; i < side->count; i++) {
        double distance = side->logs[i] - side->mean;
        variance->sum += distance * distance;
    }
    variance->freedom += side->count - 1;
}

static void add_within(struct variance *variance, const struct side *side)
{
    for (int i = 0; i < side->count; i++) {
        const struct benchmark_row *run = side->runs[i];
        if (isnan(run->deviation))
            continue;
        variance->sum += run->deviation * run->deviation * (run->repetitions - 1);
        variance->freedom += run->repetitions - 1;
    }
}

/* Of the runs' own, that is as if every run were the first again; 0: not known. */
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

/* The noise of one run, and the degrees of freedom that it is known with. */
static double noise_of_run(struct compared_row *row, const struct side sides[SIDES],
                           const struct run_noise *runs, double stated, double *freedom)
{
    struct variance between = { 0, 0 }, within = { 0, 0 };
    double noise, chosen = NAN, known = 0;

    for (int i = 0; i < SIDES; i++) {
        add_between(&between, &sides[i]);
        add_within(&within, &sides[i]);
    }
    row->within = sqrt(variance_value(&within));
    row->noise = NOISE_UNKNOWN;
    if (between.freedom > 0) {
        double least = variance_of_locations(sides);
        if (runs != NULL && runs->rows > 0) {
            row->noise = NOISE_ROWS;
            chosen = run_noise_variance(runs, sides[SIDE_BASE].logs, sides[SIDE_BASE].count,
                                        sides[SIDE_NEW].count, least, &known);
        } else {
            /* The degrees of freedom stay: that few runs agree by luck does not make them many. */
            row->noise = NOISE_RUNS;
            chosen = fmax(least, variance_value(&between));
            known = between.freedom;
        }
    } else if (within.freedom > 0) {
        chosen = variance_value(&within);
        known = within.freedom;
        row->noise = NOISE_REPETITIONS;
    }
    noise = sqrt(chosen);
    if (!isnan(stated) && !(noise >= stated)) {
        noise = stated;
        known = INFINITY;
        row->noise = NOISE_STATED;
    }
    *freedom = known;
    return noise;
}

/* All repetitions of a side in one array; *count is 0 where files hold only aggregates. */
static double *gather(const struct side *side, int *count)
{
    double *values, *end;
    int total = 0;

    for (int i = 0; i < side->count; i++) total += side->runs[i]->count;
    *count = 0;
    values = end = malloc(sizeof *values * ((size_t)total + 1));
    for (int i = 0; values != NULL && i < side->count; i++)
        if (side->runs[i]->count > 0)
            end =
                mempcpy(end, side->runs[i]->values, (size_t)side->runs[i]->count * sizeof *values);
    *count = values != NULL ? total : 0;
    return values;
}

static enum status test_ranks(struct compared_row *row, const struct side sides[SIDES])
{
    enum status status = STATUS_OK;
    double *base = gather(&sides[SIDE_BASE], &row->repetitions[SIDE_BASE]);
    double *after = gather(&sides[SIDE_NEW], &row->repetitions[SIDE_NEW]);

    if (base == NULL || after == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left to compare the repetitions");
    row->ranks =
        mann_whitney_test(after, row->repetitions[SIDE_NEW], base, row->repetitions[SIDE_BASE]);

out:
    free(base);
    free(after);
    return status;
}

static double test_runs(const struct side sides[SIDES])
{
    int base = sides[SIDE_BASE].count, after = sides[SIDE_NEW].count;

    if (mann_whitney_least_p(base, after) > CHANCE_RUNS)
        return 1;
    return mann_whitney_test(sides[SIDE_NEW].logs, after, sides[SIDE_BASE].logs, base).p;
}

/* Whether the ranks contradict a difference: they could tell and do not. Where there are runs enough,
 * these are asked, since the repetitions of one run are not independent. */
static bool ranks_are_alike(const struct compared_row *row)
{
    if (mann_whitney_least_p(row->runs[SIDE_BASE], row->runs[SIDE_NEW]) <= CHANCE_RUNS)
        return row->run_p > CHANCE_RUNS;
    return mann_whitney_least_p(row->repetitions[SIDE_BASE], row->repetitions[SIDE_NEW]) <=
               CHANCE_RANKS &&
           row->ranks.p > CHANCE_RANKS;
}

/* Runs a side with which nineteen of twenty changes by `target` would be called, if runs go on varying by
 * `between`: both what chance reaches and what the runs' own luck takes off must fit below it. */
static int runs_needed(double between, double target, double limit)
{
    for (int runs = 3; runs <= RUNS_MAX; runs++) {
        double error = between * sqrt(2.0 / runs);
        double reach = fmax(student_critical(chance_alarm[PLACE_BEST], 2 * (runs - 1)), 0) * error;
        if (fmax(reach, limit) + 1.645 * error <= target)
            return runs;
    }
    return RUNS_MAX + 1;
}

static void explain_undecided(struct compared_row *row, double reach, double limit)
{
    static const char *const sources[] = {
        [NOISE_REPETITIONS] = "one file a side, whose repetitions vary by",
        [NOISE_RUNS] = "runs of one side vary by",
        [NOISE_ROWS] = "runs of one side vary by",
        [NOISE_STATED] = "runs are said to vary by",
    };
    double target = 2 * limit;
    int length, needed;

    if (row->noise == NOISE_UNKNOWN) {
        snprintf(row->reason, sizeof row->reason,
                 "nothing tells the noise: give repetitions, several files a side, or --noise");
        return;
    }
    if (isinf(reach)) {
        snprintf(row->reason, sizeof row->reason, "the noise is not a number");
        return;
    }
    length =
        snprintf(row->reason, sizeof row->reason, "%s %.1f%%: a change below %.1f%% is not told%s",
                 sources[row->noise], 100 * row->between, 100 * expm1(reach),
                 ranks_are_alike(row) ? "; nor do the ranks differ" : "");
    if ((row->noise != NOISE_RUNS && row->noise != NOISE_ROWS) || !(limit > 0))
        return;
    needed = runs_needed(row->between, target, limit);
    snprintf(row->reason + length, sizeof row->reason - (size_t)length,
             needed > RUNS_MAX ? "; more than %d runs a side would tell %.0f%%"
                               : "; %d runs a side would tell %.0f%%",
             needed > RUNS_MAX ? RUNS_MAX : needed, 100 * expm1(target));
}

/* `change` is a logarithm; so is all that it is held against. */
static void judge(struct compared_row *row, double change, double error, double freedom,
                  const struct compare_rule *rule)
{
    double limit = log1p(rule->threshold), reach, margin;
    bool worse = compare_larger_is_better(rule) ? change < 0 : change > 0;

    row->verdict = COMPARE_UNDECIDED;
    if (row->noise == NOISE_UNKNOWN) {
        explain_undecided(row, NAN, limit);
        return;
    }
    margin = student_critical(CHANCE_INTERVAL, freedom) * error;
    reach = student_critical(chance_alarm[row->place], freedom) * error;
    row->low = expm1(change - margin);
    row->high = expm1(change + margin);
    if (change - margin >= -limit && change + margin <= limit)
        row->verdict = COMPARE_SAME;
    else if (fabs(change) > limit && fabs(change) > reach && !ranks_are_alike(row))
        row->verdict = worse ? COMPARE_SLOWER : COMPARE_FASTER;
    else
        explain_undecided(row, fmax(reach, limit), limit);
}

static bool all_equal(const struct side *side, double value)
{
    for (int i = 0; i < side->count; i++) {
        if (side->runs[i]->median != value)
            return false;
        for (int j = 0; j < side->runs[i]->count; j++)
            if (side->runs[i]->values[j] != value)
                return false;
    }
    return true;
}

static double smallest(const struct side *side)
{
    double least = INFINITY;

    for (int i = 0; i < side->count; i++) {
        least = fmin(least, side->runs[i]->median);
        for (int j = 0; j < side->runs[i]->count; j++)
            least = fmin(least, side->runs[i]->values[j]);
    }
    return least;
}

/* A counter may be 0, of which there is no factor: only none on both sides, and none on one side against
 * always some on the other, are plain. */
static void judge_with_zeros(struct compared_row *row, const struct side sides[SIDES],
                             const struct compare_rule *rule)
{
    bool none[SIDES];

    for (int i = 0; i < SIDES; i++) {
        double sum = 0;
        for (int j = 0; j < sides[i].count; j++) sum += sides[i].runs[j]->median;
        row->value[i] = sum / sides[i].count;
        none[i] = all_equal(&sides[i], 0);
    }
    row->change =
        row->value[SIDE_NEW] == row->value[SIDE_BASE]
            ? 0
            : (row->value[SIDE_NEW] - row->value[SIDE_BASE]) / fabs(row->value[SIDE_BASE]);
    row->verdict = COMPARE_UNDECIDED;
    if (none[SIDE_BASE] && none[SIDE_NEW])
        row->verdict = COMPARE_SAME;
    else if (none[SIDE_BASE] && smallest(&sides[SIDE_NEW]) > 0)
        row->verdict = compare_larger_is_better(rule) ? COMPARE_FASTER : COMPARE_SLOWER;
    else if (none[SIDE_NEW] && smallest(&sides[SIDE_BASE]) > 0)
        row->verdict = compare_larger_is_better(rule) ? COMPARE_SLOWER : COMPARE_FASTER;
    else
        snprintf(row->reason, sizeof row->reason,
                 "some values are 0 or negative: there is no factor between them");
}

/* Of one repetition the best is the median. */
static int fewest_of(const struct side sides[SIDES])
{
    int fewest = fewest_repetitions(sides[SIDE_BASE].runs, sides[SIDE_BASE].count, INT_MAX);

    return fewest_repetitions(sides[SIDE_NEW].runs, sides[SIDE_NEW].count, fewest);
}

/* `row` has its ranks; no value is 0. */
static enum status compare_at(struct compared_row *row, enum compare_place place,
                              struct side sides[SIDES], struct location *locations, double *logs,
                              const struct run_noise *noise, const struct compare_rule *rule)
{
    enum status status = STATUS_OK;
    const struct side *base = &sides[SIDE_BASE], *after = &sides[SIDE_NEW];
    double freedom;

    TRY(locate(locations, logs, base->runs, base->count, after->runs, after->count, place,
               compare_larger_is_better(rule)));
    for (int i = 0; i < SIDES; i++) {
        side_mean(&sides[i]);
        row->value[i] = exp(sides[i].mean);
    }
    row->place = place;
    row->run_p = test_runs(sides);
    row->change = row->value[SIDE_NEW] / row->value[SIDE_BASE] - 1;
    row->between = noise_of_run(row, sides, noise, rule->noise, &freedom);
    judge(row, after->mean - base->mean,
          row->between * sqrt(1.0 / base->count + 1.0 / after->count), freedom, rule);

out:
    return status;
}

static bool is_called(const struct compared_row *row)
{
    return row->verdict == COMPARE_SLOWER || row->verdict == COMPARE_FASTER;
}

/* The middle's verdict in place of the best's, where it is one. */
static void prefer_middle(struct compared_row *row, struct compared_row *middle)
{
    if (!is_called(middle))
        return;
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
    size_t runs = (size_t)(base_count + after_count);
    double *logs = calloc(runs + 1, sizeof *logs);
    struct location *locations = calloc(runs + 1, sizeof *locations);
    struct side sides[SIDES] = { { base, base_count, locations, logs, 0 },
                                 { after, after_count, locations + base_count, logs + base_count,
                                   0 } };

    if (logs == NULL || locations == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left to compare %d runs", base_count + after_count);
    row->runs[SIDE_BASE] = base_count;
    row->runs[SIDE_NEW] = after_count;
    row->change = row->low = row->high = row->within = row->between = NAN;
    row->run_p = 1;
    row->place = PLACE_BEST;
    row->reason[0] = '\0';
    TRY(test_ranks(row, sides));
    if (!(smallest(&sides[SIDE_BASE]) > 0 && smallest(&sides[SIDE_NEW]) > 0)) {
        judge_with_zeros(row, sides, rule);
        goto out;
    }
    middle = *row;
    TRY(compare_at(row, PLACE_BEST, sides, locations, logs,
                   noise != NULL ? &noise[PLACE_BEST] : NULL, rule));
    if (!is_called(row) && fewest_of(sides) > 1) {
        TRY(compare_at(&middle, PLACE_MIDDLE, sides, locations, logs,
                       noise != NULL ? &noise[PLACE_MIDDLE] : NULL, rule));
        prefer_middle(row, &middle);
    }

out:
    free(logs);
    free(locations);
    return status;
}

/* --- whole files --- */

/* Members of the context in which files must agree, where both have them. */
static const struct member {
    const char *key, *what;
    bool must;
} members[] = {
    { "device", "device", true },
    { "device_name", "device", true },
    { "device_isa", "device's instruction set", true },
    { "real_time_clock", "clock", true },
    { "cpu_time_clock", "clock of cpu_time", true },
    { "num_cpus", "number of processors", true },
    { "host_name", "host", false },
    { "cpu_model", "processor", false },
    { "library_build_type", "build type", false },
    { "device_driver", "driver", false },
};

static const struct benchmark_file *file_at(const struct compare_files sides[SIDES], int index)
{
    return index < sides[SIDE_BASE].count ? &sides[SIDE_BASE].files[index]
                                          : &sides[SIDE_NEW].files[index - sides[SIDE_BASE].count];
}

/* The first file that disagrees with an earlier one in `member`; false: none does. */
static bool disagree(const struct compare_files sides[SIDES], const struct member *member,
                     char text[512])
{
    const struct benchmark_file *known = NULL;
    char first[160] = "", other[160];

    for (int i = 0; i < sides[SIDE_BASE].count + sides[SIDE_NEW].count; i++) {
        const struct benchmark_file *file = file_at(sides, i);
        benchmark_file_context(file, member->key, other, sizeof other);
        if (other[0] == '\0')
            continue;
        if (known != NULL && strcmp(first, other) != 0) {
            snprintf(text, 512, "another %s: %.100s has \"%.60s\", %.100s has \"%.60s\"",
                     member->what, known->path, first, file->path, other);
            return true;
        }
        known = file;
        memcpy(first, other, sizeof first);
    }
    return false;
}

enum status compare_check(const struct compare_files sides[SIDES])
{
    enum status status = STATUS_OK;
    char text[512];

    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        if (members[i].must && disagree(sides, &members[i], text))
            FAIL(STATUS_BAD_INPUT, "%s; --force compares them nevertheless", text);

out:
    return status;
}

void compare_doubts(const struct compare_files sides[SIDES], char *text, size_t size)
{
    char doubt[512];
    size_t length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        if (length < size && disagree(sides, &members[i], doubt))
            length += (size_t)snprintf(text + length, size - length, "%s%s", length > 0 ? "; " : "",
                                       doubt);
}

/* What one row is made of: the runs that have values, and what was lost. */
struct found {
    const struct benchmark_row **runs[SIDES];
    int count[SIDES];
    bool present[SIDES];
};

static void find_runs(struct found *found, struct compared_row *row,
                      const struct compare_files sides[SIDES])
{
    static const char *const names[] = { "base", "new" };
    size_t length = 0;

    for (int side = 0; side < SIDES; side++) {
        found->count[side] = 0;
        found->present[side] = false;
        for (int i = 0; i < sides[side].count; i++) {
            const struct benchmark_row *run = benchmark_file_row(&sides[side].files[i], row->name);
            if (run == NULL)
                continue;
            found->present[side] = true;
            if (!isnan(run->median))
                found->runs[side][found->count[side]++] = run;
            if (run->lost > 0 && length < sizeof row->lost)
                length += (size_t)snprintf(row->lost + length, sizeof row->lost - length,
                                           "%s%d of %s: %s", length > 0 ? "; " : "", run->lost,
                                           names[side], run->reason);
        }
    }
}

/* Whether every file has the row, with values of which there are logarithms. */
static bool is_complete(const struct found *found, const struct compare_files sides[SIDES])
{
    for (int i = 0; i < SIDES; i++) {
        const struct side side = { .runs = found->runs[i], .count = found->count[i] };
        if (found->count[i] != sides[i].count || !(smallest(&side) > 0))
            return false;
    }
    return true;
}

/* When a file was begun, in seconds; NAN: it does not say. */
static double date_of(const struct benchmark_file *file)
{
    struct tm date = { .tm_isdst = 0 };
    long zone;
    char text[64];

    benchmark_file_context(file, "date", text, sizeof text);
    if (strptime(text, "%Y-%m-%dT%H:%M:%S%z", &date) == NULL)
        return NAN;
    zone = date.tm_gmtoff; /* timegm() clears it. */
    return (double)timegm(&date) - (double)zone;
}

/* Sorts the files by date and tells whether, of each two in turn, one is of each side. */
static bool take_turns(int *turns, const struct compare_files sides[SIDES])
{
    int base = sides[SIDE_BASE].count, files = base + sides[SIDE_NEW].count;

    for (int i = 0; i < files; i++) {
        double date = date_of(file_at(sides, i));
        int place = i;
        if (isnan(date))
            return false;
        for (; place > 0 && date_of(file_at(sides, turns[place - 1])) > date; place--)
            turns[place] = turns[place - 1];
        turns[place] = i;
    }
    for (int i = 0; i + 1 < files; i += 2)
        if ((turns[i] < base) == (turns[i + 1] < base))
            return false;
    return files % 2 == 0;
}

/* Learns how runs differ from all complete rows. */
static enum status learn(struct comparison *comparison, struct found *found,
                         const struct compare_files sides[SIDES], enum compare_place place)
{
    enum status status = STATUS_OK;
    int base = sides[SIDE_BASE].count, after = sides[SIDE_NEW].count, rows = 0;
    double *logs = calloc((size_t)comparison->count * (size_t)(base + after) + 1, sizeof *logs);
    int *turns = calloc((size_t)(base + after) + 1, sizeof *turns);

    if (logs == NULL || turns == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left to compare %d rows", comparison->count);
    for (int i = 0; i < comparison->count; i++) {
        double *own = logs + rows * (base + after);
        find_runs(found, &comparison->rows[i], sides);
        if (!is_complete(found, sides))
            continue;
        TRY(locate(NULL, own, found->runs[SIDE_BASE], base, found->runs[SIDE_NEW], after, place,
                   compare_larger_is_better(&comparison->rule)));
        rows++;
    }
    TRY(run_noise_learn(&comparison->run_noise[place], logs, rows, base, after,
                        take_turns(turns, sides) ? turns : NULL));

out:
    free(logs);
    free(turns);
    return status;
}

static enum status compare_row(struct compared_row *row, struct found *found,
                               const struct run_noise *noise, const struct compare_rule *rule)
{
    enum status status = STATUS_OK;
    const bool has_base = found->count[SIDE_BASE] > 0, has_new = found->count[SIDE_NEW] > 0;

    if (has_base && has_new) {
        TRY(compare_runs(row, found->runs[SIDE_BASE], found->count[SIDE_BASE],
                         found->runs[SIDE_NEW], found->count[SIDE_NEW], noise, rule));
        goto out;
    }
    row->change = row->low = row->high = row->within = row->between = NAN;
    row->ranks = (struct mann_whitney){ NAN, NAN, false };
    row->run_p = NAN;
    row->place = PLACE_BEST;
    for (int side = 0; side < SIDES; side++) {
        row->runs[side] = found->count[side];
        row->value[side] = found->count[side] > 0 ? found->runs[side][0]->median : NAN;
    }
    row->verdict = has_base ? COMPARE_MISSING : has_new ? COMPARE_NEW : COMPARE_NOT_MEASURED;
    if (has_base || has_new)
        snprintf(row->reason, sizeof row->reason, "%s",
                 !found->present[SIDE_NEW]    ? "only in base"
                 : !found->present[SIDE_BASE] ? "only in new"
                 : has_base                   ? "new has no value of it"
                                              : "base has no value of it");

out:
    return status;
}

/* Adds the rows of file number `index` that no file before it has. */
static void add_names(struct comparison *comparison, const struct compare_files sides[SIDES],
                      int index, compare_wanted *wanted, void *context)
{
    const struct benchmark_file *file = file_at(sides, index);

    for (int i = 0; i < file->count; i++) {
        const char *name = file->rows[i].name;
        bool there = wanted != NULL && !wanted(context, name);
        for (int j = 0; !there && j < index; j++)
            there = benchmark_file_row(file_at(sides, j), name) != NULL;
        if (!there)
            comparison->rows[comparison->count++].name = name;
    }
}

static enum status check_found(const struct comparison *comparison,
                               const struct compare_files sides[SIDES])
{
    enum status status = STATUS_OK;
    char counters[256] = "";
    int measured = 0;

    if (comparison->count == 0)
        FAIL(STATUS_BAD_USAGE, "nothing to compare: no row of the files has a name that the filter "
                               "finds");
    for (int i = 0; i < comparison->count; i++)
        measured += comparison->rows[i].runs[SIDE_BASE] + comparison->rows[i].runs[SIDE_NEW];
    benchmark_file_counters(file_at(sides, 0), counters, sizeof counters);
    if (measured == 0)
        FAIL(STATUS_BAD_USAGE, "no row has a value of %.60s; there are real_time, cpu_time%s%s",
             comparison->rule.metric, counters[0] != '\0' ? ", " : "", counters);

out:
    return status;
}

enum status comparison_make(struct comparison *comparison, const struct compare_files sides[SIDES],
                            const struct compare_rule *rule, compare_wanted *wanted, void *context)
{
    enum status status = STATUS_OK;
    struct found found = { .count = { 0 } };
    int files = sides[SIDE_BASE].count + sides[SIDE_NEW].count, most = 1;

    *comparison = (struct comparison){ .rule = *rule };
    for (int i = 0; i < files; i++) most += file_at(sides, i)->count;
    comparison->rows = calloc((size_t)most, sizeof *comparison->rows);
    for (int side = 0; side < SIDES; side++)
        found.runs[side] = calloc((size_t)sides[side].count + 1, sizeof *found.runs[side]);
    if (comparison->rows == NULL || found.runs[SIDE_BASE] == NULL || found.runs[SIDE_NEW] == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left to compare %d rows", most);
    for (int i = 0; i < files; i++) add_names(comparison, sides, i, wanted, context);
    for (int place = 0; place < PLACES; place++)
        TRY(learn(comparison, &found, sides, (enum compare_place)place));
    for (int i = 0; i < comparison->count; i++) {
        struct compared_row *row = &comparison->rows[i];
        find_runs(&found, row, sides);
        TRY(compare_row(row, &found, is_complete(&found, sides) ? comparison->run_noise : NULL,
                        rule));
        comparison->counts[row->verdict]++;
    }
    TRY(check_found(comparison, sides));

out:
    for (int side = 0; side < SIDES; side++) free(found.runs[side]);
    if (status != STATUS_OK)
        comparison_release(comparison);
    return status;
}

void comparison_release(struct comparison *comparison)
{
    free(comparison->rows);
    for (int place = 0; place < PLACES; place++) run_noise_release(&comparison->run_noise[place]);
    *comparison = (struct comparison){ .rule = comparison->rule };
}
