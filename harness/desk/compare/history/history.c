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
    static const char *const names[] = { "slower", "faster", "same", "moved", "too few runs" };

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

static void judge_series(struct history_series *series, const struct history_rule *rule)
{
    const struct compare_rule named = { .metric = series->runs[0]->metric, .better = rule->better };
    const enum better better = compare_better(&named);
    double before, after;

    series->verdict = series->count < CHANGE_RUNS_LEAST ? HISTORY_SHORT : HISTORY_SAME;
    if (series->change_count == 0)
        return;
    before = history_state_median(series, series->change_count - 1);
    after = history_state_median(series, series->change_count);
    series->change = (after - before) / fabs(before);
    if (fabs(series->change) > rule->threshold)
        series->verdict = better == BETTER_BY_NAME                        ? HISTORY_MOVED
                          : (after > before) == (better == BETTER_LARGER) ? HISTORY_FASTER
                                                                          : HISTORY_SLOWER;
}

static enum status judge_all(struct history *history)
{
    enum status status = STATUS_OK;
    double *room = NULL;
    int tested = 0, at = 0, most = 0;

    for (int i = 0; i < history->count; i++) {
        tested += history->series[i].count >= CHANGE_RUNS_LEAST;
        most = history->series[i].count > most ? history->series[i].count : most;
    }
    TRY_OUT(rows_make(&room, most));
    history->series_error = history->rule.error / (tested > 0 ? tested : 1);
    for (int i = 0; i < history->count; i++) {
        struct history_series *series = &history->series[i];
        int *changes = history->changes + at;
        series->changes = changes;
        series->change_count =
            change_points_find(series->values, series->count, history->series_error, changes);
        if (series->change_count < 0)
            FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory left for a series of %d runs", series->count);
        at += series->count / CHANGE_WINDOW + 1;
        series->spread = spread_of(series, room);
        if (series->spread > 0)
            series->runs_needed = compare_runs_needed(series->spread, log1p(HISTORY_SEEN), 0);
        judge_series(series, &history->rule);
        history->counts[series->verdict]++;
    }

out:
    free(room);
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
        if (entry->seconds >= since &&
            (rule->machine == NULL || strstr(entry->machine, rule->machine) != NULL) &&
            (wanted == NULL || wanted(context, entry->row)))
            runs[count++].entry = entry;
    }
    if (count == 0)
        FAIL_OUT(STATUS_BAD_USAGE, "%s: %s", file->path,
                 file->count == 0
                     ? "there is no run in it; add some with chokepoint history add"
                     : "no run is of that machine, since then, with a row that matches the filter");
    qsort(runs, (size_t)count, sizeof *runs, to_group);
    sort_runs(runs, count);
    take_series(history, runs, count);
    TRY_OUT(judge_all(history));

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
        most = history->series[i].count > most ? history->series[i].count : most;
    return most < CHANGE_RUNS_LEAST ? CHANGE_RUNS_LEAST - most : 0;
}

bool history_passes(const struct history *history, char *why, size_t size)
{
    why[0] = '\0';
    if (history->counts[HISTORY_SLOWER] > 0)
        text_join(why, size, ", ", "%d slower", history->counts[HISTORY_SLOWER]);
    if (history->counts[HISTORY_MOVED] > 0)
        text_join(why, size, ", ", "%d moved, and --better does not say which way is better",
                  history->counts[HISTORY_MOVED]);
    if (history->counts[HISTORY_SHORT] == history->count && !history->is_fresh)
        text_join(why, size, ", ", "no row has enough runs to be judged: %d more are needed",
                  history_runs_missing(history));
    return why[0] == '\0';
}

enum status history_is_fresh(const struct history *history, const struct history_file *file,
                             history_wanted *wanted, void *context, bool *fresh)
{
    struct history all;
    struct history_rule rule = history->rule;
    double first = INFINITY;

    *fresh = false;
    if (rule.since == NULL)
        return STATUS_OK;
    rule.since = NULL;
    TRY(history_make(&all, file, &rule, wanted, context));
    for (int i = 0; i < history->count; i++)
        first = fmin(first, history->series[i].runs[0]->seconds);
    for (int i = 0; i < all.count; i++) {
        const struct history_series *series = &all.series[i];
        *fresh = *fresh || (series->count >= CHANGE_RUNS_LEAST &&
                            series->runs[series->count - 1]->seconds >= first);
    }
    history_release(&all);

    return STATUS_OK;
}
