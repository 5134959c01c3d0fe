/* A page has a table per machine, since only rows of one machine compare; a check shows the last
 * change of the rows that have a verdict. */
#include "harness/desk/compare/history/history.h"

#include "harness/base/figures/statistics.h"
#include "harness/base/words/text.h"
#include "harness/desk/compare/comparison_output.h"
#include "harness/desk/compare/history/change_points.h"
#include "harness/text/json.h"
#include "harness/text/page_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HISTORY_SCHEMA = 1, SPARKLINE = 16, NAME = 256, DAY = 10, COMMIT = 12 };

/* --- Cells --- */

void history_sparkline(char *text, const double *values, int count, int columns, bool utf8)
{
    static const char *const heights[2][8] = {
        { "_", ".", ":", "-", "=", "+", "*", "#" },
        { "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588" },
    };
    double points[128], least = INFINITY, most = -INFINITY;

    columns = count < columns ? count : columns;
    /* A median for each column: one outlier among many runs shall not set the scale. */
    for (int i = 0; i < columns; i++) {
        int from = (int)((long)count * i / columns), end = (int)((long)count * (i + 1) / columns);
        points[i] = stats_median(values + from, end - from);
        least = fmin(least, points[i]);
        most = fmax(most, points[i]);
    }
    text[0] = '\0';
    for (int i = 0; i < columns; i++) {
        double share = most > least ? (points[i] - least) / (most - least) : 0.5;
        text = stpcpy(text, heights[utf8][share > 0 ? (int)fmin(7, 8 * share) : 0]);
    }
}

/* The row's name, and what tells it from another of the same name. */
static void print_name(char text[NAME], const struct history_series *series)
{
    const struct history_entry *run = series->runs[0];

    snprintf(text, NAME, "%.180s", run->row);
    if (strcmp(run->metric, BENCHMARK_TIME) != 0)
        text_append(text, NAME, " %.40s", run->metric);
    if (series->shares_name)
        text_append(text, NAME, " (work %.6s, %.8s)", run->work[0] != '\0' ? run->work : "unknown",
                    run->statistic);
}

/* "-": not known. */
static struct cell needed_cell(int runs)
{
    return runs == 0 ? cell("-") : runs > RUNS_MOST ? cell("over %d", RUNS_MOST) : cell("%d", runs);
}

/* --- Changes --- */

static const enum ink verdict_inks[HISTORY_VERDICTS] = {
    [HISTORY_SLOWER] = INK_BAD, [HISTORY_FASTER] = INK_GOOD, [HISTORY_MOVED] = INK_BAD
};

/* The change that began state number `state`. Only the last one has a verdict. */
static void add_change(struct page_rows *rows, const struct history_series *series, int state)
{
    const struct history_entry *run = series->runs[series->changes[state - 1]];
    int end = state < series->change_count ? series->changes[state] : series->count;
    double before = history_state_median(series, state - 1),
           after = history_state_median(series, state);
    bool is_last = state == series->change_count;
    enum ink ink = is_last ? verdict_inks[series->verdict] : INK_PLAIN;
    char name[NAME];
    const enum ink inks[] = { INK_PLAIN, INK_PLAIN, INK_PLAIN, INK_PLAIN,
                              INK_PLAIN, INK_PLAIN, ink,       ink };

    print_name(name, series);
    PAGE_ROW(rows, inks, name, cell("%.*s", DAY, run->date).text,
             cell("%.*s", COMMIT, run->commit[0] != '\0' ? run->commit : "-").text,
             quantity_count(end - series->changes[state - 1]).text,
             comparison_value(run->metric, before).text, comparison_value(run->metric, after).text,
             comparison_percent((after - before) / fabs(before)).text,
             is_last ? history_verdict_name(series->verdict) : "");
}

/* Whether two series stand under one heading. */
static bool is_same_machine(const struct history *history, int one, int other)
{
    return one >= 0 && other < history->count &&
           history->series[one].runs[0]->machine == history->series[other].runs[0]->machine;
}

/* Whether a check names the series. */
static bool has_moved(const struct history_series *series)
{
    return series->verdict == HISTORY_SLOWER || series->verdict == HISTORY_FASTER ||
           series->verdict == HISTORY_MOVED;
}

/* Whether a check shows its last change; of one that only drifts print_notes() tells. */
static bool has_last_change(const struct history_series *series)
{
    return has_moved(series) && series->change_count > 0;
}

/* The first run of the last state. */
static int last_change(const struct history_series *series)
{
    return series->change_count > 0 ? series->changes[series->change_count - 1] : 0;
}

/* Changes of the series from .. end - 1: all, or only the last of those that have a verdict. */
static void print_changes(const struct page *page, const struct history *history, int from, int end,
                          bool is_check)
{
    static const struct column columns[] = {
        { "row", PAGE_CUT, 0 }, { "first run", -DAY, 0 }, { "commit", -COMMIT, 2 },
        { "runs", 5, 1 },       { "before", 9, 0 },       { "after", 9, 0 },
        { "change", 8, 0 },     { "verdict", -8, 0 },
    };
    struct page_rows *rows = page_rows_open(columns, ARRAY_SIZE(columns));

    for (int i = from; i < end; i++) {
        const struct history_series *series = &history->series[i];
        int state = is_check ? series->change_count : 1;
        if (is_check && !has_last_change(series))
            continue;
        for (; state <= series->change_count; state++) add_change(rows, series, state);
    }
    if (page_rows_any(rows)) {
        if (!is_check)
            page_heading(page, "Changes");
        page_rows_print(page, rows);
    } else {
        page_rows_close(rows);
    }
}

/* --- Pages --- */

static void print_machine(const struct page *page, const struct history *history, int first)
{
    const char *machine = history->series[first].runs[0]->machine;

    page_heading(page, machine[0] != '\0' ? machine : "unknown machine");
}

/* "12 rows: 1 slower, 11 same". */
static void print_counts(char *text, size_t size, const struct history *history)
{
    const char *separator = ": ";

    snprintf(text, size, "%d row%s", history->count, history->count == 1 ? "" : "s");
    for (int i = 0; i < HISTORY_VERDICTS; i++) {
        if (history->counts[i] == 0)
            continue;
        text_append(text, size, "%s%d %s", separator, history->counts[i],
                    history_verdict_name((enum history_verdict)i));
        separator = ", ";
    }
}

/* How many runs it takes to see a change, over the rows. */
static void print_runs_needed(const struct page *page, const struct history *history)
{
    double *needed = calloc((size_t)history->count + 1, sizeof *needed);
    struct cell half, most;
    char range[96] = "";
    int count = 0;

    if (needed == NULL) {
        page_paragraph(page, INK_DOUBTFUL, "There is no memory left for the runs that it takes.");
        return;
    }
    for (int i = 0; i < history->count; i++)
        if (history->series[i].runs_needed > 0)
            needed[count++] = history->series[i].runs_needed;
    if (count > 0) {
        stats_sort(needed, count);
        half = needed_cell((int)needed[count / 2]);
        most = needed_cell((int)needed[count - 1]);
        if (strcmp(half.text, most.text) != 0)
            snprintf(range, sizeof range, " in half of the rows, and %.40s in all", most.text);
        page_paragraph(
            page, INK_PLAIN,
            "By the noise of these rows, comparing two versions takes %s runs of each to see a "
            "change of %.0f%%%s.",
            half.text, 100 * HISTORY_SEEN, range);
    }
    free(needed);
}

/* The best of more repetitions is smaller, so runs should have as many. */
static void print_repetitions(const struct page *page, const struct history *history)
{
    int count = 0;

    for (int i = 0; i < history->count; i++)
        count += history->series[i].repetitions[1] > 2 * history->series[i].repetitions[0];
    if (count > 0)
        page_paragraph(
            page, INK_DOUBTFUL,
            "%d row%s runs of which one has more than twice the repetitions of another: the best "
            "of more repetitions is better by itself.",
            count, count == 1 ? " has" : "s have");
}

static void add_series_row(const struct page *page, struct page_rows *rows,
                           const struct history_series *series)
{
    const char *metric = series->runs[0]->metric;
    char name[NAME], line[3 * SPARKLINE + 1];

    print_name(name, series);
    history_sparkline(line, series->values, series->count, SPARKLINE,
                      page->markdown || console_is_utf8());
    PAGE_ROW(rows, NULL, name, quantity_count(series->count).text,
             comparison_value(metric, series->values[0]).text,
             comparison_value(metric, series->values[series->count - 1]).text,
             comparison_value(metric, stats_median(series->values, series->count)).text,
             quantity_share(series->spread).text, line, needed_cell(series->runs_needed).text);
}

void history_page(const struct page *page, const struct history *history)
{
    static const struct column columns[] = {
        { "row", PAGE_CUT, 0 },  { "runs", 5, 0 },
        { "first", 9, 2 },       { "last", 9, 0 },
        { "median", 9, 0 },      { "spread", 7, 0 },
        { "over time", -16, 3 }, { "runs to see 3%", 14, 1 },
    };
    char counts[160];

    for (int from = 0, end; from < history->count; from = end) {
        struct page_rows *rows = page_rows_open(columns, ARRAY_SIZE(columns));
        print_machine(page, history, from);
        for (end = from; end == from || is_same_machine(history, from, end); end++)
            add_series_row(page, rows, &history->series[end]);
        page_rows_print(page, rows);
        print_changes(page, history, from, end, false);
    }
    print_counts(counts, sizeof counts, history);
    page_summary(page, "%s", counts);
    print_runs_needed(page, history);
    print_repetitions(page, history);
}

/* The table of changes does not say of a row: a drift, a chance, or that it is gone. */
static void print_notes(const struct page *page, const struct history *history)
{
    char name[NAME], other[NAME], since[DAY + COMMIT + 16];

    for (int i = 0; i < history->count; i++) {
        const struct history_series *series = &history->series[i];
        const struct history_entry *last = series->runs[series->count - 1];
        print_name(name, series);
        if (has_moved(series) && series->drift != 0)
            page_paragraph(page, INK_DOUBTFUL,
                           "%s drifts: the last third of the %d runs of its state are %s from the "
                           "first.",
                           name, series->count - last_change(series),
                           comparison_percent(series->drift).text);
        if (has_moved(series) && series->first_state + 1 < series->change_count)
            page_paragraph(page, INK_DOUBTFUL, "%s moved by %s in %d steps of one way.", name,
                           comparison_percent(series->change).text,
                           series->change_count - series->first_state);
        if (has_moved(series) && !isnan(series->chance))
            page_paragraph(page, INK_DOUBTFUL,
                           "%s was measured so in %d run%s only: noise does as much with a "
                           "probability of %.2g. Another run makes it sure.",
                           name, series->count - last_change(series),
                           series->count - last_change(series) == 1 ? "" : "s", series->chance);
        if (series->lacking == 0)
            continue;
        snprintf(since, sizeof since, "%.*s%s%.*s", DAY, last->date,
                 last->commit[0] != '\0' ? ", " : "", COMMIT, last->commit);
        page_paragraph(page, INK_BAD,
                       "%s is no longer measured: its last run is of %s, and %d later run%s of its "
                       "machine lack it. Where that is meant, --since or a --filter leaves it out.",
                       name, since, series->lacking, series->lacking == 1 ? "" : "s");
        if (series->renamed < 0)
            continue;
        print_name(other, &history->series[series->renamed]);
        page_paragraph(page, INK_DOUBTFUL,
                       "%s began in the next run, at a like value: renamed, perhaps. Its name in "
                       "the lines of the file joins the two.",
                       other);
    }
}

void history_check_page(const struct page *page, const struct history *history)
{
    char counts[200], why[240];
    enum gate_end gate;

    for (int from = 0, end; from < history->count; from = end) {
        int changed = 0;
        for (end = from; end == from || is_same_machine(history, from, end); end++)
            changed += has_last_change(&history->series[end]);
        if (changed > 0)
            print_machine(page, history, from);
        print_changes(page, history, from, end, true);
    }
    print_counts(counts, sizeof counts, history);
    page_summary(page, "%s", counts);
    if (history->counts[HISTORY_SHORT] < history->count)
        page_paragraph(
            page, INK_PLAIN,
            "Changes of up to %.3g%% do not count. Where nothing changed, such a check "
            "raises an alarm with a probability of at most %.3g%%, which is %.2g%% per row.",
            100 * history->rule.threshold, 100 * history->rule.error, 100 * history->series_error);
    if (history->counts[HISTORY_SHORT] > 0)
        page_paragraph(
            page, INK_PLAIN,
            "A row is judged from its run number %d on; the one with the most runs lacks %d.",
            CHANGE_RUNS_LEAST, history_runs_missing(history));
    if (history->counts[HISTORY_SHORT] > 0 && history->machines > 1)
        page_paragraph(
            page, INK_DOUBTFUL,
            "The runs are of %d machines, and each has rows of its own. Runners of one kind "
            "make one machine if add --machine=KEY names it.",
            history->machines);
    print_repetitions(page, history);
    print_notes(page, history);
    gate = history_end(history, why, sizeof why);
    if (gate != GATE_PASSED)
        page_paragraph(page, INK_BAD, "%s: %s", gate == GATE_FAILED ? "Not passed" : "Cannot tell",
                       why);
}

/* --- JSON --- */

static void add_changes(struct json *json, cJSON *to, const struct history_series *series)
{
    cJSON *changes = json_array(json, to, "changes");

    for (int state = 1; state <= series->change_count; state++) {
        const struct history_entry *run = series->runs[series->changes[state - 1]];
        double before = history_state_median(series, state - 1),
               after = history_state_median(series, state);
        JSON_ROW(json, changes, KEY("run", series->changes[state - 1]), KEY("date", run->date),
                 KEY("commit", run->commit), KEY("before", before), KEY("after", after),
                 KEY("change", (after - before) / fabs(before)));
    }
}

static void add_series(struct json *json, cJSON *to, const struct history *history,
                       const struct history_series *series)
{
    const struct history_entry *run = series->runs[0];
    const char *renamed = series->lacking > 0 && series->renamed >= 0
                              ? history->series[series->renamed].runs[0]->row
                              : NULL;
    bool is_known = series->runs_needed > 0 && series->runs_needed <= RUNS_MOST;
    cJSON *dates = json_array(json, NULL, NULL), *commits = json_array(json, NULL, NULL);
    cJSON *object = JSON_ROW(
        json, to, KEY("machine", run->machine), KEY("row", run->row), KEY("metric", run->metric),
        KEY("time_unit", benchmark_metric_is_time(run->metric) ? "us" : NULL),
        KEY("statistic", run->statistic), KEY("work", run->work),
        KEY("verdict", history_verdict_name(series->verdict)), KEY("change", series->change),
        KEY("drift", series->drift), KEY("chance", series->chance),
        KEY("runs_lacking", (double)series->lacking), KEY("renamed", renamed),
        KEY("runs", series->count), KEY("first", series->values[0]),
        KEY("last", series->values[series->count - 1]),
        KEY("median", stats_median(series->values, series->count)), KEY("spread", series->spread),
        KEY("runs_to_see_3_percent", is_known ? (double)series->runs_needed : NAN),
        KEY("values", json_series(json, series->values, series->count, 6)), KEY("dates", dates),
        KEY("commits", commits));

    for (int i = 0; i < series->count; i++) {
        json_text(json, dates, NULL, series->runs[i]->date);
        json_text(json, commits, NULL, series->runs[i]->commit);
    }
    add_changes(json, object, series);
}

void history_json(struct json *json, cJSON *root, const struct history *history,
                  const struct history_file *file)
{
    cJSON *counts, *rows;
    char why[200];
    enum gate_end end = history_end(history, why, sizeof why);

    JSON_ADD(json, root, KEY("schema", HISTORY_SCHEMA), KEY("file", file->path),
             KEY("threshold", history->rule.threshold), KEY("error", history->rule.error),
             KEY("row_error", history->series_error), KEY("damaged_lines", file->damaged),
             KEY("passed", (bool)(end == GATE_PASSED)), KEY("exit_code", (double)end),
             KEY("not_passed_because", why));
    counts = json_object(json, root, "counts");
    for (int i = 0; i < HISTORY_VERDICTS; i++)
        json_integer(json, counts, history_verdict_name((enum history_verdict)i),
                     history->counts[i]);
    rows = json_array(json, root, "rows");
    for (int i = 0; i < history->count; i++) add_series(json, rows, history, &history->series[i]);
}
