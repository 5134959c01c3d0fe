#include "harness/compare/comparison_output.h"

#include "harness/base/quantity.h"
#include "harness/text/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COMPARISON_SCHEMA = 1, CELL = 48, NOTE = 520 };

/* The figures of a row as text. */
struct figures {
    char base[QUANTITY_SIZE], after[QUANTITY_SIZE];
    char change[CELL], interval[CELL], noise[CELL];
};

static void print_percent(char text[CELL], double change)
{
    if (isnan(change))
        snprintf(text, CELL, "-");
    else if (isinf(change) || fabs(change) >= 9.995)
        snprintf(text, CELL, isinf(change) ? "from 0" : "%.3gx", 1 + change);
    else
        snprintf(text, CELL, "%+.1f%%", 100 * change);
}

/* Times in a unit of their size, bytes too; other counters with four digits. */
static void print_value(char text[QUANTITY_SIZE], const char *metric, double value)
{
    size_t length;

    if (benchmark_metric_is_time(metric)) {
        quantity_print(text, value, "us");
    } else if (strstr(metric, "bytes") == NULL) {
        snprintf(text, QUANTITY_SIZE, isnan(value) ? "-" : "%.4g", value);
    } else {
        quantity_print(text, value, "B");
        length = strlen(text);
        if (strstr(metric, "_per_second") != NULL && !isnan(value))
            snprintf(text + length, QUANTITY_SIZE - length, "/s");
    }
}

static struct figures figures_of(const struct comparison *comparison,
                                 const struct compared_row *row)
{
    const char *metric = comparison->rule.metric;
    char low[CELL], high[CELL];
    struct figures figures;

    print_value(figures.base, metric, row->value[SIDE_BASE]);
    print_value(figures.after, metric, row->value[SIDE_NEW]);
    print_percent(figures.change, row->change);
    print_percent(low, row->low);
    print_percent(high, row->high);
    if (isnan(row->low))
        snprintf(figures.interval, CELL, "-");
    else
        snprintf(figures.interval, CELL, "%.20s to %.20s", low, high);
    if (isnan(row->between))
        snprintf(figures.noise, CELL, "-");
    else
        snprintf(figures.noise, CELL, "%.1f%%", 100 * row->between);
    return figures;
}

static bool is_compared(const struct compared_row *row)
{
    return row->verdict < COMPARE_MISSING;
}

/* "12 rows: 1 slower, 8 same, 3 undecided; 1 missing". */
static void print_counts(char *text, size_t size, const struct comparison *comparison)
{
    static const enum compare_verdict order[] = { COMPARE_SLOWER,    COMPARE_FASTER,  COMPARE_SAME,
                                                  COMPARE_UNDECIDED, COMPARE_MISSING, COMPARE_NEW };
    size_t length = (size_t)snprintf(text, size, "%d row%s", comparison->count,
                                     comparison->count == 1 ? "" : "s");
    const char *separator = ": ";

    for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
        if (comparison->counts[order[i]] == 0 || length >= size)
            continue;
        length += (size_t)snprintf(text + length, size - length, "%s%d %s", separator,
                                   comparison->counts[order[i]], compare_verdict_name(order[i]));
        separator = ", ";
    }
}

static const enum ink verdict_inks[COMPARE_VERDICTS] = {
    [COMPARE_FASTER] = INK_GOOD,        [COMPARE_SLOWER] = INK_BAD,
    [COMPARE_UNDECIDED] = INK_DOUBTFUL, [COMPARE_MISSING] = INK_DOUBTFUL,
    [COMPARE_NEW] = INK_DOUBTFUL,       [COMPARE_NOT_MEASURED] = INK_DOUBTFUL,
};

/* Why a row has no plain verdict, and what it lost; "" when there is nothing to say. */
static void note_of(const struct compared_row *row, char text[NOTE])
{
    snprintf(text, NOTE, "%s%s%s", row->reason,
             row->reason[0] != '\0' && row->lost[0] != '\0' ? "; " : "", row->lost);
}

/* In 80 columns where names are short. */
enum { COLUMNS = 7 };
static const struct column all_columns[COLUMNS] = {
    { "", -16 },    { "base", 8 },      { "new", 8 }, { "change", 7 }, { "95% interval", -17 },
    { "noise", 6 }, { "verdict", -12 },
};

static void print_rows(const struct page *page, const struct comparison *comparison)
{
    struct column columns[COLUMNS];

    memcpy(columns, all_columns, sizeof columns);
    columns[0].heading = comparison->rule.metric;
    page_column_fit(&columns[0], comparison->rule.metric);
    for (int i = 0; i < comparison->count; i++)
        page_column_fit(&columns[0], comparison->rows[i].name);
    page_table(page, columns, COLUMNS);
    for (int i = 0; i < comparison->count; i++) {
        const struct compared_row *row = &comparison->rows[i];
        struct figures figures = figures_of(comparison, row);
        const char *const cells[COLUMNS] = {
            row->name,
            figures.base,
            figures.after,
            figures.change,
            figures.interval,
            figures.noise,
            compare_verdict_name(row->verdict),
        };
        const enum ink inks[COLUMNS] = { [COLUMNS - 1] = verdict_inks[row->verdict] };
        page_row_inked(page, columns, COLUMNS, cells, inks);
    }
}

static void print_notes(const struct page *page, const struct comparison *comparison)
{
    bool headed = false;
    char note[NOTE];

    for (int i = 0; i < comparison->count; i++) {
        note_of(&comparison->rows[i], note);
        if (note[0] == '\0')
            continue;
        if (!headed)
            page_heading(page, "Notes");
        headed = true;
        page_note(page, comparison->rows[i].name, note);
    }
}

static void print_totals(const struct page *page, const struct comparison *comparison)
{
    char counts[160];

    print_counts(counts, sizeof counts, comparison);
    page_summary(page, "%s (threshold %g%%, %s)", counts, 100 * comparison->rule.threshold,
                 compare_larger_is_better(&comparison->rule) ? "larger is better"
                                                             : "smaller is better");
}

/* The totals stand where they are seen first: at the end in a terminal, at the top in a comment. */
void comparison_page(const struct page *page, const struct comparison *comparison,
                     const char *doubts)
{
    if (page->markdown)
        print_totals(page, comparison);
    print_rows(page, comparison);
    print_notes(page, comparison);
    if (doubts[0] != '\0') {
        page_heading(page, "Doubtful");
        page_paragraph(page, INK_DOUBTFUL, "%s", doubts);
    }
    if (!page->markdown)
        print_totals(page, comparison);
}

static void add_files(struct json *json, cJSON *root, const char *name,
                      const struct compare_files *side)
{
    cJSON *array = json_array(json, root, name);

    for (int i = 0; i < side->count; i++) json_text(json, array, NULL, side->files[i].path);
}

static void add_two(struct json *json, cJSON *to, const char *name, double first, double second)
{
    cJSON *array = json_array(json, to, name);

    json_number(json, array, NULL, first);
    json_number(json, array, NULL, second);
}

static void add_row(struct json *json, cJSON *rows, const struct compared_row *row)
{
    cJSON *object = json_object(json, rows, NULL);

    json_text(json, object, "name", row->name);
    json_text(json, object, "verdict", compare_verdict_name(row->verdict));
    json_text(json, object, "reason", row->reason);
    json_text(json, object, "lost", row->lost);
    json_number(json, object, "base", row->value[SIDE_BASE]);
    json_number(json, object, "new", row->value[SIDE_NEW]);
    json_number(json, object, "change", row->change);
    add_two(json, object, "interval", row->low, row->high);
    json_number(json, object, "noise_within", row->within);
    json_number(json, object, "noise_between", row->between);
    json_text(json, object, "noise_from", is_compared(row) ? compare_noise_name(row->noise) : NULL);
    add_two(json, object, "runs", row->runs[SIDE_BASE], row->runs[SIDE_NEW]);
    add_two(json, object, "repetitions", row->repetitions[SIDE_BASE], row->repetitions[SIDE_NEW]);
}

enum status comparison_json(const struct comparison *comparison, const struct compare_files *sides,
                            const char *doubts, char **text)
{
    const struct compare_rule *rule = &comparison->rule;
    struct json json = { false };
    cJSON *root = json_object(&json, NULL, NULL), *counts, *rows;
    enum status status;

    json_integer(&json, root, "schema", COMPARISON_SCHEMA);
    json_text(&json, root, "metric", rule->metric);
    json_text(&json, root, "time_unit", benchmark_metric_is_time(rule->metric) ? "us" : NULL);
    json_bool(&json, root, "larger_is_better", compare_larger_is_better(rule));
    json_number(&json, root, "threshold", rule->threshold);
    json_number(&json, root, "noise", rule->noise);
    json_number(&json, root, "noise_common",
                comparison->run_noise[PLACE_BEST].rows > 0
                    ? sqrt(comparison->run_noise[PLACE_BEST].common)
                    : NAN);
    add_files(&json, root, "base", &sides[SIDE_BASE]);
    add_files(&json, root, "new", &sides[SIDE_NEW]);
    json_text(&json, root, "doubts", doubts);
    counts = json_object(&json, root, "counts");
    for (int i = 0; i < COMPARE_VERDICTS; i++)
        json_integer(&json, counts, compare_verdict_name((enum compare_verdict)i),
                     comparison->counts[i]);
    rows = json_array(&json, root, "rows");
    for (int i = 0; i < comparison->count; i++) add_row(&json, rows, &comparison->rows[i]);
    status = json_print(&json, root, text);
    cJSON_Delete(root);
    return status;
}
