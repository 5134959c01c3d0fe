/* Entries are sorted into series, each series is cut where it changes, and the last state is judged
 * against the one before it. */
#include "harness/desk/compare/history/history.h"

#include "harness/base/figures/statistics.h"
#include "harness/base/rows.h"
#include "harness/base/sort.h"
#include "harness/base/words/text.h"
#include "harness/desk/compare/history/change_points.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *history_verdict_name(enum history_verdict verdict)
{
    static const char *const names[] = { "slower", "faster",       "same",
                                         "moved",  "too few runs", "no longer measured" };

    return names[verdict];
}

/* --- The runs of each series --- */

/* A run and where it goes. */
struct placed {
    const struct history_entry *entry;
    long machine, series; /* the first lines of each */
    bool shares_name;
};

/* Compares all that may differ between two series. Equal texts are equal pointers. */
static int by_texts(const struct history_entry *one, const struct history_entry *other)
{
    const char *const texts[][2] = { { one->machine, other->machine },
                                     { one->row, other->row },
                                     { one->metric, other->metric },
                                     { one->work, other->work },
                                     { one->statistic, other->statistic } };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (texts[i][0] != texts[i][1])
            return texts[i][0] < texts[i][1] ? -1 : 1;
    return 0;
}

/* By series in any order, and by line. */
COMPARATOR(to_group, struct placed, by_texts(a->entry, b->entry) ?: ASCENDING(entry->line))

/* In the order of output, and by date. */
COMPARATOR(to_print, struct placed,
           ASCENDING(machine) ?: ASCENDING(series) ?: ASCENDING(entry->seconds)
           ?: ASCENDING(entry->line))

/* `runs` are sorted by to_group(); afterwards, by to_print(). */
static void sort_runs(struct placed *runs, int count)
{
    for (int first = 0, end; first < count; first = end) {
        long machine = LONG_MAX;
        for (end = first; end < count && runs[end].entry->machine == runs[first].entry->machine;
             end++)
            machine = runs[end].entry->line < machine ? runs[end].entry->line : machine;
        for (int i = first; i < end; i++) runs[i].machine = machine;
    }
    for (int i = 0, of = 0; i < count; i++) {
        of = by_texts(runs[i].entry, runs[of].entry) == 0 ? of : i;
        runs[i].series = runs[of].entry->line;
    }
    for (int first = 0, end; first < count; first = end) {
        const struct history_entry *one = runs[first].entry;
        for (end = first; end < count && runs[end].entry->machine == one->machine &&
                          runs[end].entry->row == one->row &&
                          runs[end].entry->metric == one->metric;)
            end++;
        for (int i = first; i < end; i++)
            runs[i].shares_name = runs[first].series != runs[end - 1].series;
    }
    qsort(runs, (size_t)count, sizeof *runs, to_print);
}

/* The first moment that counts. */
static enum status resolve_since(double *since, const struct history_file *file, const char *text)
{
    struct tm day = { .tm_isdst = 0 };
    const char *end = text != NULL ? strptime(text, "%Y-%m-%d", &day) : NULL;
    bool is_commit;

    *since = -INFINITY;
    if (text == NULL)
        return STATUS_OK;
    *since = benchmark_date(text);
    if (isnan(*since) && end != NULL && *end == '\0')
        *since = (double)timegm(&day);
    is_commit = isnan(*since);
    for (int i = 0; is_commit && i < file->count; i++)
        if (strncmp(file->entries[i].commit, text, strlen(text)) == 0)
            *since = fmin(*since, file->entries[i].seconds);
    if (isnan(*since))
        FAIL(STATUS_BAD_USAGE,
             "%s has no run of commit \"%.60s\", and no date is written so; dates are like "
             "2026-11-20",
             file->path, text);

    return STATUS_OK;
}

/* --- A series --- */

double history_state_median(const struct history_series *series, int state)
{
    int from = state > 0 ? series->changes[state - 1] : 0,
        end = state < series->change_count ? series->changes[state] : series->count;

    return stats_median(series->values + from, end - from);
}

/* Relative to the median of each run's own state, unlike stats_bulk(), so that a series that
 * changed level is no noisier for it. */
static double spread_of(const struct history_series *series, double *room)
{
    int from = 0;

    if (series->count < 3)
        return NAN;
    for (int state = 0; state <= series->change_count; state++) {
        int end = state < series->change_count ? series->changes[state] : series->count;
        double median = history_state_median(series, state);
        for (; from < end; from++)
            room[from] =
                series->values[from] == median ? 0 : fabs((series->values[from] - median) / median);
    }
    return STATS_MAD_SCALE * stats_sort_median(room, series->count);
}

static void judge_change(struct history_series *series, const struct history_rule *rule,
                         double change)
{
    const struct compare_rule named = { .metric = series->runs[0]->metric, .better = rule->better };
    const enum better better = compare_better(&named);

    if (fabs(change) > rule->threshold)
        series->verdict = better == BETTER_BY_NAME                    ? HISTORY_MOVED
                          : (change > 0) == (better == BETTER_LARGER) ? HISTORY_FASTER
                                                                      : HISTORY_SLOWER;
}

/* Steps of one way add up, so that many small ones count as a large one does. */
static void judge_states(struct history_series *series, const struct history_rule *rule)
{
    int state = series->change_count;
    double after = history_state_median(series, state), before = NAN;

    for (series->first_state = state; state > 0; state--) {
        double here = history_state_median(series, state),
               earlier = history_state_median(series, state - 1);
        if (series->first_state < series->change_count && (here > earlier) != (after > before))
            break;
        before = earlier;
        series->first_state = state - 1;
    }
    if (series->change_count == 0)
        return;
    series->change = (after - before) / fabs(before);
    judge_change(series, rule, series->change);
}

static enum status judge_drift(struct history_series *series, const struct history_rule *rule,
                               double error)
{
    int from = series->change_count > 0 ? series->changes[series->change_count - 1] : 0,
        third = (series->count - from) / 3,
        trend = change_trend(series->values + from, series->count - from, error);
    double first, last;

    if (trend == 2)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left for a series of %d runs", series->count);
    if (trend == 0)
        return STATUS_OK;
    first = stats_median(series->values + from, third);
    last = stats_median(series->values + series->count - third, third);
    series->drift = (last - first) / fabs(first);
    if (series->verdict == HISTORY_SAME)
        judge_change(series, rule, series->drift);

    return STATUS_OK;
}

enum status history_judge(struct history_series *series, const struct history_rule *rule,
                          double error, int *changes, double *room)
{
    int last;

    series->changes = changes;
    series->change_count = change_points_find(series->values, series->count, error, changes);
    if (series->change_count < 0)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left for a series of %d runs", series->count);
    last = series->change_count > 0 ? changes[series->change_count - 1] : 0;
    series->verdict = series->count < CHANGE_RUNS_LEAST ? HISTORY_SHORT : HISTORY_SAME;
    series->chance = NAN;
    series->renamed = -1;
    judge_states(series, rule);
    TRY(judge_drift(series, rule, error));
    if (last > 0 && series->count - last < CHANGE_WINDOW) {
        int before = series->change_count > 1 ? series->changes[series->change_count - 2] : 0;
        change_jump(series->values + before, series->count - before, room, &series->chance);
    }
    series->spread = spread_of(series, room);
    if (series->spread > 0)
        series->runs_needed = compare_runs_needed(series->spread, log1p(HISTORY_SEEN), 0);

    return STATUS_OK;
}

/* --- Rows that are no longer measured --- */

static bool is_same_row(const struct history_entry *one, const struct history_entry *other)
{
    return one->machine == other->machine && one->row == other->row && one->metric == other->metric;
}

/* A moment at which something was measured on a machine. */
struct moment {
    const char *machine;
    double seconds;
};

COMPARATOR(by_moment, struct moment, ASCENDING(machine) ?: ASCENDING(seconds))

/* All of the file since then, each once, also those of rows that are not wanted. */
static enum status list_moments(struct moment **moments, int *count,
                                const struct history_file *file, double since)
{
    struct moment *all;
    int runs = 0, kept = 0;

    TRY(rows_make(moments, file->count + 1));
    all = *moments;
    for (int i = 0; i < file->count; i++)
        if (file->entries[i].seconds >= since)
            all[runs++] = (struct moment){ file->entries[i].machine, file->entries[i].seconds };
    qsort(all, (size_t)runs, sizeof *all, by_moment);
    for (int i = 0; i < runs; i++) {
        if (i > 0 && all[i].machine == all[i - 1].machine && all[i].seconds == all[i - 1].seconds)
            continue;
        all[kept++] = all[i];
    }
    *count = kept;

    return STATUS_OK;
}

/* The series that took up at `seconds`, whose first value is within a quarter of this one's last
 * and the nearest to it; -1: none. */
static int find_renamed(const struct history *history, const struct history_series *series,
                        double seconds)
{
    double least = log(1.25);
    int found = -1;

    for (int i = 0; i < history->count; i++) {
        const struct history_series *other = &history->series[i];
        double distance = fabs(log(other->values[0] / series->values[series->count - 1]));
        if (other->runs[0]->machine != series->runs[0]->machine ||
            other->runs[0]->metric != series->runs[0]->metric ||
            other->runs[0]->seconds != seconds || !(distance < least))
            continue;
        least = distance;
        found = i;
    }
    return found;
}

/* A row that did other work has several series, of which only the last may be gone. */
static bool is_latest(const struct history *history, const struct history_series *series)
{
    double last = series->runs[series->count - 1]->seconds;

    for (int i = 0; i < history->count; i++) {
        const struct history_series *other = &history->series[i];
        if (is_same_row(series->runs[0], other->runs[0]) &&
            other->runs[other->count - 1]->seconds > last)
            return false;
    }
    return true;
}

/* A row that each third run has, say, is gone after three without it. */
static void find_gone(const struct history *history, struct history_series *series,
                      const struct moment *moments, int count)
{
    int run = 0, gap = 0, longest = 0;
    double next = NAN;

    for (int i = 0; i < count; i++) {
        if (moments[i].machine != series->runs[0]->machine)
            continue;
        if (run == series->count || moments[i].seconds != series->runs[run]->seconds) {
            next = run == series->count && gap == 0 ? moments[i].seconds : next;
            gap += run > 0;
            continue;
        }
        longest = gap > longest ? gap : longest;
        gap = 0;
        while (run < series->count && series->runs[run]->seconds == moments[i].seconds) run++;
    }
    if (series->count < 2 || gap <= longest || !is_latest(history, series))
        return;
    if (series->verdict != HISTORY_SLOWER && series->verdict != HISTORY_MOVED)
        series->verdict = HISTORY_GONE;
    series->lacking = gap;
    series->renamed = find_renamed(history, series, next);
}

/* --- All series --- */

static enum status judge_all(struct history *history, const struct history_file *file, double since)
{
    enum status status = STATUS_OK;
    struct moment *moments = NULL;
    double *room = NULL;
    int moment_count = 0;
    int tested = 0, at = 0, most = 0;

    for (int i = 0; i < history->count; i++) {
        tested += history->series[i].count >= CHANGE_RUNS_LEAST;
        most = history->series[i].count > most ? history->series[i].count : most;
    }
    TRY_OUT(rows_make(&room, 2 * most));
    TRY_OUT(list_moments(&moments, &moment_count, file, since));
    history->series_error = history->rule.error / (tested > 0 ? tested : 1);
    for (int i = 0; i < history->count; i++) {
        struct history_series *series = &history->series[i];
        TRY_OUT(history_judge(series, &history->rule, history->series_error, history->changes + at,
                              room));
        at += series->count / CHANGE_WINDOW + 2;
    }
    for (int i = 0; i < history->count; i++) {
        struct history_series *series = &history->series[i];
        find_gone(history, series, moments, moment_count);
        history->counts[series->verdict]++;
    }

out:
    free(room);
    free(moments);
    return status;
}

static void take_series(struct history *history, const struct placed *runs, int count)
{
    for (int i = 0; i < count; i++) {
        struct history_series *series = &history->series[history->count - 1];
        int repetitions = runs[i].entry->repetitions;
        history->machines += i == 0 || runs[i].machine != runs[i - 1].machine;
        if (i == 0 || runs[i].series != runs[i - 1].series) {
            series = &history->series[history->count++];
            *series = (struct history_series){ .runs = history->runs + i,
                                               .values = history->values + i,
                                               .shares_name = runs[i].shares_name,
                                               .repetitions = { repetitions, repetitions } };
        }
        history->runs[i] = runs[i].entry;
        history->values[i] = runs[i].entry->value;
        series->count++;
        series->repetitions[0] =
            repetitions < series->repetitions[0] ? repetitions : series->repetitions[0];
        series->repetitions[1] =
            repetitions > series->repetitions[1] ? repetitions : series->repetitions[1];
    }
}

enum status history_make(struct history *history, const struct history_file *file,
                         const struct history_rule *rule, history_wanted *wanted, void *context)
{
    enum status status = STATUS_OK;
    int room = file->count + 1;
    struct placed *runs = NULL;
    double since;
    int count = 0;

    *history = (struct history){ .rule = *rule };
    TRY_OUT(rows_make(&runs, room));
    TRY_OUT(rows_make(&history->runs, room));
    TRY_OUT(rows_make(&history->values, room));
    TRY_OUT(rows_make(&history->changes, 2 * (int64_t)room));
    TRY_OUT(rows_make(&history->series, room));
    if (!(history->rule.error > 0))
        history->rule.error = HISTORY_ERROR;
    TRY_OUT(resolve_since(&since, file, rule->since));
    for (int i = 0; i < file->count; i++) {
        const struct history_entry *entry = &file->entries[i];
        if (entry->seconds >= since && !isnan(entry->value) &&
            (rule->machine == NULL || strstr(entry->machine, rule->machine) != NULL) &&
            (wanted == NULL || wanted(context, entry->row)))
            runs[count++].entry = entry;
    }
    if (count == 0)
        FAIL_OUT(STATUS_BAD_USAGE, "%s: %s", file->path,
                 file->count == 0
                     ? "there is no run in it; add some with chokepoint history add"
                     : "no run is of that machine, since then, with a row that matches the filter "
                       "and has a value");
    qsort(runs, (size_t)count, sizeof *runs, to_group);
    sort_runs(runs, count);
    take_series(history, runs, count);
    TRY_OUT(judge_all(history, file, since));

out:
    free(runs);
    if (status != STATUS_OK)
        history_release(history);
    return status;
}

void history_release(struct history *history)
{
    free(history->series);
    free(history->runs);
    free(history->values);
    free(history->changes);
    *history = (struct history){ .rule = history->rule };
}

/* --- The check --- */

int history_runs_missing(const struct history *history)
{
    int most = 0;

    for (int i = 0; i < history->count; i++)
        if (history->series[i].verdict == HISTORY_SHORT && history->series[i].count > most)
            most = history->series[i].count;
    return CHANGE_RUNS_LEAST - most;
}

enum gate_end history_end(const struct history *history, char *why, size_t size)
{
    const int *counts = history->counts;

    why[0] = '\0';
    if (counts[HISTORY_SLOWER] > 0)
        text_join(why, size, ", ", "%d slower", counts[HISTORY_SLOWER]);
    if (counts[HISTORY_MOVED] > 0)
        text_join(why, size, ", ", "%d moved, and --better does not say which way is better",
                  counts[HISTORY_MOVED]);
    if (counts[HISTORY_GONE] > 0)
        text_join(why, size, ", ", "%d no longer measured", counts[HISTORY_GONE]);
    if (counts[HISTORY_SHORT] + counts[HISTORY_GONE] == history->count && counts[HISTORY_SHORT] > 0)
        text_join(why, size, ", ", "no row has enough runs to be judged: %d more are needed",
                  history_runs_missing(history));
    return counts[HISTORY_SLOWER] + counts[HISTORY_MOVED] > 0 ? GATE_FAILED
           : why[0] != '\0'                                   ? GATE_UNTOLD
                                                              : GATE_PASSED;
}
