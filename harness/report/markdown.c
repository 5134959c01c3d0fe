#include "harness/report/markdown.h"

#include "harness/report/result_findings.h"
#include "harness/report/result_summary.h"

/* Text inside a cell: a bar or a line feed would end it. */
static void print_cell(FILE *stream, const char *text)
{
    fputc(' ', stream);
    for (; *text != '\0'; text++) {
        if (*text == '|' || *text == '\\' || *text == '<' || *text == '*' || *text == '`')
            fputc('\\', stream);
        fputc(*text == '\n' ? ' ' : *text, stream);
    }
    fputs(" |", stream);
}

static void print_row(FILE *stream, const char *const cells[], int count)
{
    fputc('|', stream);
    for (int i = 0; i < count; i++) print_cell(stream, cells[i]);
    fputc('\n', stream);
}

static void print_scenario(FILE *stream, const struct scenario_result *result)
{
    struct summary_row rows[SUMMARY_ROWS];
    int count = summary_rows(result, rows);
    char change[128];

    summary_change(change, sizeof change, result);
    for (int i = 0; i < (count > 0 ? count : 1); i++) {
        const char *cells[] = {
            i == 0 ? result->scenario->name : "", i == 0 ? change : "",
            count > 0 ? rows[i].measure : "",     count > 0 ? rows[i].before : "",
            count > 0 ? rows[i].after : "",       count > 0 ? rows[i].effect : "",
            count > 0 ? rows[i].interval : "",    i == 0 ? verdict_name(result->verdict) : "",
        };
        print_row(stream, cells, ARRAY_SIZE(cells));
    }
}

/* Text outside the table, on one line. */
static void print_line(FILE *stream, const char *text)
{
    for (; *text != '\0'; text++) fputc(*text == '\n' ? ' ' : *text, stream);
    fputc('\n', stream);
}

/* An item an expectation that was not met; where there is none, the verdict's own reason. */
static void print_reasons(FILE *stream, const struct scenario_result *result)
{
    const char *verdict = verdict_name(result->verdict);
    bool explained = false;

    for (int i = 0; i < result->expectation_count; i++) {
        if (!summary_is_unmet(&result->expectations[i]))
            continue;
        fprintf(stream, "- `%s`, %s: ", result->scenario->name, verdict);
        print_line(stream, result->expectations[i].reason);
        explained = true;
    }
    if (!explained) {
        fprintf(stream, "- `%s`, %s: ", result->scenario->name, verdict);
        print_line(stream, result->reason);
    }
}

void markdown_table(FILE *stream, const struct scenario_result *results, int count)
{
    bool reasons = false;
    char counts[160], note[SUMMARY_NOTE_SIZE], findings[FINDINGS_LINE];

    if (count == 0)
        return;
    fprintf(stream,
            "| scenario | change | measure | %s | %s | effect | interval | verdict |\n"
            "|---|---|---|--:|--:|---|---|---|\n",
            summary_side(results, VARIANT_BEFORE), summary_side(results, VARIANT_AFTER));
    for (int i = 0; i < count; i++) print_scenario(stream, &results[i]);
    for (int i = 0; i < count; i++) {
        if (results[i].verdict == VERDICT_REPRODUCED || results[i].verdict == VERDICT_NO_DIFFERENCE)
            continue;
        if (!reasons)
            fputc('\n', stream);
        reasons = true;
        print_reasons(stream, &results[i]);
    }
    for (int i = 0; i < count; i++)
        for (int n = 0; n < SUMMARY_NOTES; n++)
            if (summary_notes[n](note, sizeof note, &results[i])) {
                fprintf(stream, "%s- `%s`: %s\n", reasons ? "" : "\n", results[i].scenario->name,
                        note);
                reasons = true;
            }
    for (int i = 0; i < count; i++)
        if (result_findings_line(findings, &results[i])) {
            fprintf(stream, "%s- `%s`, ", reasons ? "" : "\n", results[i].scenario->name);
            print_line(stream, findings);
            reasons = true;
        }
    summary_counts(counts, sizeof counts, results, count);
    fprintf(stream, "\n%s. Measured on %s.\n", counts, results[0].device.name);
}
