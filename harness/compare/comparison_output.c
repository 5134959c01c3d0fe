#include "harness/compare/comparison_output.h"

#include "harness/base/quantity.h"
#include "harness/text/json.h"
#include "harness/text/wrap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COMPARISON_SCHEMA = 1, NAME_MIN = 16, CELL = 48, NOTE = 520 };

/* The figures of a row as text. */
struct cells {
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

static struct cells cells_of(const struct comparison *comparison, const struct compared_row *row)
{
    const char *metric = comparison->rule.metric;
    char low[CELL], high[CELL];
    struct cells cells;

    print_value(cells.base, metric, row->value[SIDE_BASE]);
    print_value(cells.after, metric, row->value[SIDE_NEW]);
    print_percent(cells.change, row->change);
    print_percent(low, row->low);
    print_percent(high, row->high);
    if (isnan(row->low))
        snprintf(cells.interval, CELL, "-");
    else
        snprintf(cells.interval, CELL, "%.20s to %.20s", low, high);
    if (isnan(row->between))
        snprintf(cells.noise, CELL, "-");
    else
        snprintf(cells.noise, CELL, "%.1f%%", 100 * row->between);
    return cells;
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

static const char *colour_of(const struct console *console, enum compare_verdict verdict)
{
    static const char plain[] = "";

    switch (verdict) {
    case COMPARE_SLOWER:
        return console->bad;
    case COMPARE_FASTER:
        return console->good;
    case COMPARE_UNDECIDED:
    case COMPARE_MISSING:
    case COMPARE_NEW:
    case COMPARE_NOT_MEASURED:
        return console->doubtful;
    case COMPARE_SAME:
    case COMPARE_VERDICTS:
        break;
    }
    return plain;
}

/* Why a row has no plain verdict, and what it lost; "" when there is nothing to say. */
static void note_of(const struct compared_row *row, char text[NOTE])
{
    snprintf(text, NOTE, "%s%s%s", row->reason,
             row->reason[0] != '\0' && row->lost[0] != '\0' ? "; " : "", row->lost);
}

static void print_notes(const struct console *console, const struct comparison *comparison)
{
    FILE *stream = console->stream;
    bool headed = false;
    char note[NOTE];

    for (int i = 0; i < comparison->count; i++) {
        const struct compared_row *row = &comparison->rows[i];
        note_of(row, note);
        if (note[0] == '\0')
            continue;
        if (!headed)
            fprintf(stream, "\n%sNotes%s\n", console->bold, console->plain);
        headed = true;
        fprintf(stream, "  %s: ", row->name);
        wrap_print(stream, (int)strlen(row->name) + 4, 4, console->width, note);
    }
}

static const char *direction(const struct comparison *comparison)
{
    return compare_larger_is_better(&comparison->rule) ? "larger is better" : "smaller is better";
}

void comparison_console(const struct console *console, const struct comparison *comparison,
                        const char *doubts)
{
    FILE *stream = console->stream;
    char counts[160];
    int width = NAME_MIN;

    for (int i = 0; i < comparison->count; i++)
        if ((int)strlen(comparison->rows[i].name) > width)
            width = (int)strlen(comparison->rows[i].name);
    fprintf(stream, "%s%-*s  %9s  %9s  %8s  %-18s  %6s  %s%s\n", console->dim, width,
            comparison->rule.metric, "base", "new", "change", "95% interval", "noise", "",
            console->plain);
    for (int i = 0; i < comparison->count; i++) {
        const struct compared_row *row = &comparison->rows[i];
        struct cells cells = cells_of(comparison, row);
        fprintf(stream, "%-*s  %9s  %9s  %8s  %-18s  %6s  %s%s%s\n", width, row->name, cells.base,
                cells.after, cells.change, cells.interval, cells.noise,
                colour_of(console, row->verdict), compare_verdict_name(row->verdict),
                console->plain);
    }
    print_notes(console, comparison);
    if (doubts[0] != '\0') {
        fprintf(stream, "\n%sDoubtful:%s ", console->doubtful, console->plain);
        wrap_print(stream, 10, 2, console->width, doubts);
    }
    print_counts(counts, sizeof counts, comparison);
    fprintf(stream, "\n%s%s%s (threshold %g%%, %s)\n", console->bold, counts, console->plain,
            100 * comparison->rule.threshold, direction(comparison));
}

/* Inside a cell a bar or a line feed would end it. */
static void print_cell(FILE *stream, const char *text)
{
    fputc(' ', stream);
    for (; *text != '\0'; text++) {
        if (strchr("|\\<*`_", *text) != NULL)
            fputc('\\', stream);
        fputc(*text == '\n' ? ' ' : *text, stream);
    }
    fputs(" |", stream);
}

static void print_markdown_row(FILE *stream, const struct comparison *comparison,
                               const struct compared_row *row)
{
    struct cells cells = cells_of(comparison, row);
    const char *verdict = compare_verdict_name(row->verdict);
    bool loud = row->verdict == COMPARE_SLOWER || row->verdict == COMPARE_FASTER;

    fputc('|', stream);
    print_cell(stream, row->name);
    print_cell(stream, cells.base);
    print_cell(stream, cells.after);
    print_cell(stream, cells.change);
    print_cell(stream, cells.interval);
    print_cell(stream, cells.noise);
    fprintf(stream, " %s%s%s |\n", loud ? "**" : "", verdict, loud ? "**" : "");
}

void comparison_markdown(FILE *stream, const struct comparison *comparison, const char *doubts)
{
    char counts[160];

    print_counts(counts, sizeof counts, comparison);
    fprintf(stream, "**%s** (`%s`, threshold %g%%, %s)\n\n", counts, comparison->rule.metric,
            100 * comparison->rule.threshold, direction(comparison));
    fputs("| benchmark | base | new | change | 95% interval | noise | verdict |\n"
          "|---|--:|--:|--:|---|--:|---|\n",
          stream);
    for (int i = 0; i < comparison->count; i++)
        print_markdown_row(stream, comparison, &comparison->rows[i]);
    if (doubts[0] != '\0')
        fprintf(stream, "\nDoubtful: %s\n", doubts);
    for (int i = 0, noted = 0; i < comparison->count; i++) {
        char note[NOTE];
        note_of(&comparison->rows[i], note);
        if (note[0] != '\0')
            fprintf(stream, "%s- `%s`: %s\n", noted++ == 0 ? "\n" : "", comparison->rows[i].name,
                    note);
    }
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

enum status comparison_json(const struct comparison *comparison,
                            const struct compare_files sides[SIDES], const char *doubts,
                            char **text)
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
