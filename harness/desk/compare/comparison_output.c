/* A page has the rows, notes on single rows, and what decides. Reasons that several rows share are
 * said once. As a comment of a pull request the page has a limit of characters: the least important
 * rows are left out until it fits. */
#include "harness/desk/compare/comparison_output.h"

#include "harness/base/rows.h"
#include "harness/base/words/text.h"
#include "harness/text/json.h"
#include "harness/text/page_rows.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COMPARISON_SCHEMA = 2, CELL = 48, NOTE = 1024 };

struct cell comparison_percent(double change)
{
    if (isnan(change) || isinf(change))
        return cell(isnan(change) ? "-" : "from 0");
    return fabs(change) >= 9.995 ? cell("%.3gx", 1 + change) : cell("%+.1f%%", 100 * change);
}

/* Times, bytes and rates of bytes in a unit of their size; other counters with four digits. */
struct cell comparison_value(const char *metric, double value)
{
    bool is_rate = strstr(metric, "_per_second") != NULL;
    const char *unit = benchmark_metric_is_time(metric)             ? "us"
                       : strstr(metric, "bytes") != NULL            ? is_rate ? "B/s" : "B"
                       : strstr(metric, "flops") != NULL && is_rate ? "FLOP/s"
                                                                    : NULL;

    if (unit != NULL)
        return cell("%s", quantity_of(value, unit).text);
    return isnan(value) ? cell("-") : cell("%.4g", value);
}

static struct cell interval_cell(const struct compared_row *row)
{
    return isnan(row->low) ? cell("-")
                           : cell("%.20s to %.20s", comparison_percent(row->low).text,
                                  comparison_percent(row->high).text);
}

/* "12 rows: 1 slower, 8 same, 2 undecided, 1 missing". */
static void print_counts(char *text, size_t size, const struct comparison *comparison)
{
    static const enum compare_verdict order[] = { COMPARE_SLOWER,     COMPARE_FASTER,
                                                  COMPARE_SAME,       COMPARE_UNDECIDED,
                                                  COMPARE_OTHER_WORK, COMPARE_MISSING,
                                                  COMPARE_NEW,        COMPARE_NOT_MEASURED };
    const char *separator = ": ";

    snprintf(text, size, "%d row%s", comparison->count, comparison->count == 1 ? "" : "s");
    for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
        if (comparison->counts[order[i]] == 0)
            continue;
        text_append(text, size, "%s%d %s", separator, comparison->counts[order[i]],
                    compare_verdict_name(order[i]));
        separator = ", ";
    }
}

/* A comparison as a page shows it. */
struct view {
    const struct comparison *comparison;
    const struct comparison_remarks *remarks;
    int hidden[NOISE_STATED + 1]; /* rows whose change that noise hides: is_hidden() */
    bool *shown;                  /* [rows] */
    int cut;                      /* rows that are left out for want of room */
};

static const enum ink verdict_inks[COMPARE_VERDICTS] = {
    [COMPARE_FASTER] = INK_GOOD,           [COMPARE_SLOWER] = INK_BAD,
    [COMPARE_UNDECIDED] = INK_DOUBTFUL,    [COMPARE_OTHER_WORK] = INK_DOUBTFUL,
    [COMPARE_MISSING] = INK_DOUBTFUL,      [COMPARE_NEW] = INK_DOUBTFUL,
    [COMPARE_NOT_MEASURED] = INK_DOUBTFUL,
};

/* Undecided because the noise hides what there may be, and is known from `noise`. */
static bool is_hidden(const struct compared_row *row, enum compare_noise noise)
{
    return row->verdict == COMPARE_UNDECIDED && row->noise == noise && row->shows > 0;
}

/* Why a row is slower, or has no plain verdict, unless that is said for several, and what it lost;
 * "" when there is nothing to say. */
static void note_of(const struct view *view, const struct compared_row *row, char text[NOTE])
{
    /* print_common() gives some reasons for several rows together. */
    bool is_said = row->lacks_runs || row->lacks_better ||
                   (is_hidden(row, row->noise) && view->hidden[row->noise] > 1);

    text[0] = '\0';
    if (row->because[0] != '\0')
        text_append(text, NOTE, "slower because of %s", row->because);
    if (!is_said && row->reason[0] != '\0')
        text_join(text, NOTE, "; ", "%s", row->reason);
    if (row->lost[0] != '\0')
        text_join(text, NOTE, "; ", "%s", row->lost);
}

/* "real_time, best of 6 to 15 repetitions per file". */
static void print_statistic(const struct page *page, const struct comparison *comparison)
{
    int fewest = INT_MAX, most = 0;
    char range[32] = "";

    for (int i = 0; i < comparison->count; i++) {
        int own = comparison->rows[i].best_of;
        if (!compare_is_common(comparison->rows[i].verdict) || own == 0)
            continue;
        fewest = own < fewest ? own : fewest;
        most = own > most ? own : most;
    }
    if (fewest < most)
        snprintf(range, sizeof range, "%d to ", fewest);
    if (most > 1)
        page_paragraph(page, INK_DIM, "%s, best of %s%d repetitions per file",
                       comparison->rule.metric, range, most);
    else if (most == 1)
        page_paragraph(page, INK_DIM, "%s, one value per file", comparison->rule.metric);
}

/* A change, its interval and the verdict say most: the others go first where the screen is
 * narrow. */
enum { COLUMNS = 7 };

static void print_rows(const struct page *page, const struct view *view)
{
    const struct comparison *comparison = view->comparison;
    const struct column columns[COLUMNS] = {
        { comparison->rule.metric, PAGE_CUT, 0 },
        { "base", 8, 2 },
        { "new", 8, 1 },
        { "change", 7, 0 },
        { "95% interval", -17, 0 },
        { "noise", 6, 3 },
        { "verdict", -12, 0 },
    };
    struct page_rows *rows = page_rows_open(columns, COLUMNS);

    for (int i = 0; i < comparison->count; i++) {
        const struct compared_row *row = &comparison->rows[i];
        const char *metric = comparison->rule.metric;
        if (!view->shown[i])
            continue;
        const enum ink inks[COLUMNS] = { [COLUMNS - 1] = verdict_inks[row->verdict] };
        PAGE_ROW(rows, inks, row->name, comparison_value(metric, row->value[SIDE_BASE]).text,
                 comparison_value(metric, row->value[SIDE_NEW]).text,
                 comparison_percent(row->change).text, interval_cell(row).text,
                 isnan(row->between) ? "-" : cell("%.1f%%", 100 * row->between).text,
                 compare_verdict_name(row->verdict));
    }
    if (page_rows_any(rows))
        page_rows_print(page, rows);
    else
        page_rows_close(rows);
}

/* "12.3%", or "12.3% to 45.6%". */
static void print_percents(char text[CELL], double least, double most)
{
    if (100 * (most - least) < 0.05)
        snprintf(text, CELL, "%.1f%%", 100 * most);
    else
        snprintf(text, CELL, "%.1f%% to %.1f%%", 100 * least, 100 * most);
}

/* "; a change of 10% would take 12 to 40 runs per side", or "12 or more". */
static void print_runs(char text[NOTE], const struct comparison *comparison, int fewest, int most)
{
    char count[CELL];

    text[0] = '\0';
    if (fewest == 0)
        return;
    if (fewest > RUNS_MOST)
        snprintf(count, sizeof count, "more than %d", RUNS_MOST);
    else if (most > RUNS_MOST)
        snprintf(count, sizeof count, "%d or more", fewest);
    else if (fewest < most)
        snprintf(count, sizeof count, "%d to %d", fewest, most);
    else
        snprintf(count, sizeof count, "%d", most);
    snprintf(text, NOTE, "; a change of %.0f%% would take %s runs per side",
             100 * (pow(1 + comparison->rule.threshold, 2) - 1), count);
}

/* The reason that several undecided rows share, with their figures from least to most. */
static void print_hidden(const struct page *page, const struct view *view, enum compare_noise noise)
{
    const struct comparison *comparison = view->comparison;
    double least[2] = { INFINITY, INFINITY }, most[2] = { 0, 0 };
    int count = view->hidden[noise], fewest = INT_MAX, largest = 0;
    char varies[CELL], shows[CELL], runs[NOTE];

    if (count < 2)
        return;
    for (int i = 0; i < comparison->count; i++) {
        const struct compared_row *row = &comparison->rows[i];
        if (!is_hidden(row, noise))
            continue;
        least[0] = fmin(least[0], row->between);
        most[0] = fmax(most[0], row->between);
        least[1] = fmin(least[1], row->shows);
        most[1] = fmax(most[1], row->shows);
        fewest = row->runs_needed < fewest ? row->runs_needed : fewest;
        largest = row->runs_needed > largest ? row->runs_needed : largest;
    }
    print_percents(varies, least[0], most[0]);
    print_percents(shows, least[1], most[1]);
    print_runs(runs, comparison, fewest, largest);
    page_paragraph(page, INK_DOUBTFUL,
                   "%d rows undecided, %s %s: only changes above %s would show%s.", count,
                   compare_noise_words(noise), varies, shows, runs);
}

static void print_common(const struct page *page, const struct view *view)
{
    const struct comparison *comparison = view->comparison;
    bool alone = false;

    for (int i = 0; i < comparison->count; i++) alone = alone || comparison->rows[i].lacks_runs;
    if (alone)
        page_paragraph(page, INK_DOUBTFUL,
                       "One file per side shows no run-to-run noise: give three per side.");
    if (comparison->lacks_better > 0)
        page_paragraph(page, INK_BAD,
                       "The name of %.60s does not say which way is better: give --better=larger "
                       "or --better=smaller.",
                       comparison->rule.metric);
    for (int noise = NOISE_REPETITIONS; noise <= NOISE_STATED; noise++)
        print_hidden(page, view, (enum compare_noise)noise);
}

static void print_notes(const struct page *page, const struct view *view)
{
    bool headed = false;
    char note[NOTE];

    print_common(page, view);
    for (int i = 0; i < view->comparison->count; i++) {
        const struct compared_row *row = &view->comparison->rows[i];
        note_of(view, row, note);
        if (note[0] == '\0' || !view->shown[i])
            continue;
        if (!headed)
            page_heading(page, "Notes");
        headed = true;
        page_note(page, row->name, note);
    }
}

/* --- The rows that decide --- */

enum { DECIDING = 8, LEAST_RUNS = 3 }; /* DECIDING are named for each fault */

/* How much a row matters among those of its fault. */
static double weight_of(const struct compared_row *row)
{
    return isnan(row->change) ? -1 : fabs(row->change);
}

/* The heaviest row of that fault after row `last`, by weight and then by place; -1: there is
 * none. */
static int next_deciding(const struct view *view, const char *fault, int last)
{
    const struct compared_row *rows = view->comparison->rows;
    int next = -1;

    for (int i = 0; i < view->comparison->count; i++) {
        double weight = weight_of(&rows[i]), after = last < 0 ? INFINITY : weight_of(&rows[last]);
        bool is_left = last < 0 || weight < after || (weight == after && i > last);
        if (is_left && (next < 0 || weight > weight_of(&rows[next])) &&
            gate_fault(&rows[i], &view->remarks->gate) == fault)
            next = i;
    }
    return next;
}

/* "slower: BM_a/8 (+20.1%), BM_b/8 (+12.3%) and 3 more". */
static void print_fault(const struct page *page, const struct view *view, const char *fault,
                        int count)
{
    char text[1200] = "";
    int named = 0;

    for (int i = -1; named < DECIDING && (i = next_deciding(view, fault, i)) >= 0; named++) {
        const struct compared_row *row = &view->comparison->rows[i];
        text_join(text, sizeof text, ", ", "%.120s", row->name);
        if (row->lost_more)
            text_append(text, sizeof text, " (%.80s)", row->lost);
        else if (!isnan(row->change))
            text_append(text, sizeof text, " (%s)", comparison_percent(row->change).text);
    }
    if (count > named)
        text_append(text, sizeof text, " and %d more", count - named);
    page_paragraph(page, INK_BAD, "%c%s: %s", toupper((unsigned char)fault[0]), fault + 1, text);
}

static void print_deciding(const struct page *page, const struct view *view)
{
    enum { FAULTS = COMPARE_VERDICTS + 4 };
    struct {
        const char *words;
        int count;
    } faults[FAULTS] = { { NULL, 0 } };
    int count = 0;

    for (int i = 0; i < view->comparison->count; i++) {
        const char *fault = gate_fault(&view->comparison->rows[i], &view->remarks->gate);
        int at = 0;
        if (fault == NULL)
            continue;
        while (at < count && faults[at].words != fault) at++;
        count = at == count ? count + 1 : count;
        faults[at].words = fault;
        faults[at].count++;
    }
    for (int i = 0; i < count; i++) print_fault(page, view, faults[i].words, faults[i].count);
}

/* How many runs would decide the rows that moved. */
static void print_advice(const struct page *page, const struct view *view)
{
    const struct comparison *comparison = view->comparison;
    double limit = log1p(comparison->rule.threshold);
    int rounds = 0;

    for (int i = 0; i < comparison->count; i++) {
        const struct compared_row *row = &comparison->rows[i];
        double change = fabs(log1p(row->change));
        int needed = row->between > 0 && isfinite(change)
                         ? compare_runs_needed(row->between, change, limit)
                         : 0;
        if (row->is_beyond)
            rounds = needed > rounds ? needed : rounds;
        rounds = row->is_beyond && rounds < LEAST_RUNS ? LEAST_RUNS : rounds;
    }
    if (rounds > RUNS_MOST)
        page_paragraph(
            page, INK_PLAIN,
            "To tell takes more than %d files per side, or a quieter machine: chokepoint "
            "doctor says what disturbs this one.",
            RUNS_MOST);
    else if (rounds > 0)
        page_paragraph(page, INK_PLAIN,
                       "To tell, measure both in turns: chokepoint bench --rounds-of OLD NEW "
                       "--rounds=%d --out=DIR; --command=COMMAND does it with any program.",
                       rounds);
}

static void print_totals(const struct page *page, const struct view *view)
{
    const struct comparison *comparison = view->comparison;
    enum better better = compare_better(&comparison->rule);
    char counts[200];

    print_counts(counts, sizeof counts, comparison);
    page_summary(page, "%s (threshold %g%%, %s)", counts, 100 * comparison->rule.threshold,
                 better == BETTER_BY_NAME  ? "which way is better is not known"
                 : better == BETTER_LARGER ? "larger is better"
                                           : "smaller is better");
    if (view->remarks->end == GATE_PASSED)
        return;
    page_paragraph(page, INK_BAD, "%s: %s",
                   view->remarks->end == GATE_FAILED ? "Not passed" : "Cannot tell",
                   view->remarks->why);
    print_deciding(page, view);
    print_advice(page, view);
}

/* --- The page --- */

static void print_page(const struct page *page, const struct view *view)
{
    const char *doubts = view->remarks->doubts;

    if (page->markdown)
        print_totals(page, view);
    print_statistic(page, view->comparison);
    if (view->cut > 0)
        page_paragraph(
            page, INK_BAD,
            "%d rows are left out here, to stay below what a comment takes; --all-rows shows "
            "them, --only-changed and --filter fewer.",
            view->cut);
    print_rows(page, view);
    print_notes(page, view);
    if (doubts[0] != '\0') {
        page_heading(page, "Doubtful");
        page_paragraph(page, INK_DOUBTFUL, "%s", doubts);
    }
    if (!page->markdown)
        print_totals(page, view);
}

/* 0 matters most; CLASSES: it is left out anyway. */
enum { CLASSES = 4 };
static int class_of(const struct view *view, const struct compared_row *row)
{
    int class = gate_fault(row, &view->remarks->gate) != NULL ? 0
                : row->verdict == COMPARE_UNDECIDED           ? 2
                : row->verdict == COMPARE_SAME                ? 3
                                                              : 1;

    return view->remarks->only_changed && class > 1 ? CLASSES : class;
}

/* Shows the `most` rows that matter most. */
static void choose_rows(struct view *view, int most)
{
    int left = most;

    view->cut = 0;
    memset(view->shown, 0, (size_t)view->comparison->count * sizeof *view->shown);
    for (int class = 0; class < CLASSES; class ++)
        for (int i = 0; i < view->comparison->count; i++) {
            if (class_of(view, &view->comparison->rows[i]) != class)
                continue;
            view->shown[i] = left > 0;
            view->cut += left <= 0;
            left -= left > 0;
        }
}

/* The page in memory; *text is malloc'd. */
static enum status render(const struct page *page, const struct view *view, char **text,
                          size_t *size)
{
    struct page memory = *page;
    FILE *stream = open_memstream(text, size);

    if (stream == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left for a page of %d rows", view->comparison->count);
    memory.console.stream = stream;
    print_page(&memory, view);
    if (fclose(stream) != 0)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left for a page of %d rows", view->comparison->count);

    return STATUS_OK;
}

/* Prints a page that a comment takes. */
static enum status print_comment(const struct page *page, struct view *view)
{
    enum status status = STATUS_OK;
    char *text = NULL;
    size_t size = 0;

    TRY_OUT(render(page, view, &text, &size));
    for (int most = view->comparison->count; size > COMPARISON_COMMENT && most > 0;) {
        int fits = (int)(0.95 * most * COMPARISON_COMMENT / (double)size);
        most = fits < most ? fits : most - 1;
        choose_rows(view, most);
        free(text);
        text = NULL;
        TRY_OUT(render(page, view, &text, &size));
    }
    fwrite(text, 1, size, page->console.stream);

out:
    free(text);
    return status;
}

enum status comparison_page(const struct page *page, const struct comparison *comparison,
                            const struct comparison_remarks *remarks)
{
    enum status status = STATUS_OK;
    struct view view = { .comparison = comparison, .remarks = remarks };

    TRY_OUT(rows_make(&view.shown, comparison->count));
    for (int i = 0; i < comparison->count; i++)
        for (int noise = NOISE_REPETITIONS; noise <= NOISE_STATED; noise++)
            view.hidden[noise] += is_hidden(&comparison->rows[i], (enum compare_noise)noise);
    choose_rows(&view, comparison->count);
    if (page->markdown && !remarks->all_rows)
        TRY_OUT(print_comment(page, &view));
    else
        print_page(page, &view);

out:
    free(view.shown);
    return status;
}

/* --- JSON --- */

static cJSON *files_json(struct json *json, const struct compare_files *side)
{
    cJSON *array = json_array(json, NULL, NULL);

    for (int i = 0; i < side->count; i++) json_text(json, array, NULL, side->files[i].path);
    return array;
}

static void add_json_row(struct json *json, cJSON *rows, const struct compared_row *row,
                         const struct compare_gate *gate)
{
    JSON_ROW(
        json, rows, KEY("name", row->name), KEY("verdict", compare_verdict_name(row->verdict)),
        KEY("reason", row->reason), KEY("because", row->because), KEY("lost", row->lost),
        KEY("decides", (bool)(gate_fault(row, gate) != NULL)),
        KEY("statistic", row->place == PLACE_BEST ? "best" : "median"),
        KEY("best_of", row->best_of > 0 ? (double)row->best_of : NAN),
        KEY("base", row->value[SIDE_BASE]), KEY("new", row->value[SIDE_NEW]),
        KEY("change", row->change), KEY("interval", json_pair(json, row->low, row->high)),
        KEY("noise_within", row->within), KEY("noise_between", row->between),
        KEY("noise_from", compare_is_common(row->verdict) ? compare_noise_name(row->noise) : NULL),
        KEY("runs", json_pair(json, row->runs[SIDE_BASE], row->runs[SIDE_NEW])),
        KEY("repetitions",
            json_pair(json, row->repetitions[SIDE_BASE], row->repetitions[SIDE_NEW])));
}

enum status comparison_json(const struct comparison *comparison, const struct compare_files *sides,
                            const struct comparison_remarks *remarks, char **text)
{
    const struct compare_rule *rule = &comparison->rule;
    struct json json = { false };
    cJSON *root = json_object(&json, NULL, NULL), *counts, *rows;
    enum status status;

    JSON_ADD(&json, root, KEY("schema", COMPARISON_SCHEMA), KEY("metric", rule->metric),
             KEY("time_unit", benchmark_metric_is_time(rule->metric) ? "us" : NULL));
    if (compare_better(rule) == BETTER_BY_NAME)
        json_text(&json, root, "larger_is_better", NULL);
    else
        json_bool(&json, root, "larger_is_better", compare_larger_is_better(rule));
    JSON_ADD(&json, root, KEY("threshold", rule->threshold), KEY("noise", rule->noise),
             KEY("noise_common", comparison->run_noise[PLACE_BEST].rows > 0
                                     ? sqrt(comparison->run_noise[PLACE_BEST].common)
                                     : NAN),
             KEY("base", files_json(&json, &sides[SIDE_BASE])),
             KEY("new", files_json(&json, &sides[SIDE_NEW])), KEY("doubts", remarks->doubts),
             KEY("passed", (bool)(remarks->end == GATE_PASSED)),
             KEY("exit_code", (double)remarks->end), KEY("not_passed_because", remarks->why));
    counts = json_object(&json, root, "counts");
    for (int i = 0; i < COMPARE_VERDICTS; i++)
        json_integer(&json, counts, compare_verdict_name((enum compare_verdict)i),
                     comparison->counts[i]);
    rows = json_array(&json, root, "rows");
    for (int i = 0; i < comparison->count; i++)
        add_json_row(&json, rows, &comparison->rows[i], &remarks->gate);
    status = json_print(&json, root, text);
    cJSON_Delete(root);
    return status;
}
