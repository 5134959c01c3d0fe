#include "harness/report/console.h"

#include "harness/report/result_findings.h"
#include "harness/report/result_summary.h"
#include "harness/text/wrap.h"

#include <string.h>

/* Columns of a row: measure, before, after, effect, interval; the verdict ends at LINE. */
enum { MEASURE = 24, VALUE = 10, EFFECT = 14, INTERVAL = 15, LINE = 79 };

static const char *verdict_colour(const struct console *console, enum verdict verdict)
{
    switch (verdict) {
    case VERDICT_REPRODUCED:
    case VERDICT_NO_DIFFERENCE:
        return console->good;
    case VERDICT_UNDECIDED:
        return console->doubtful;
    case VERDICT_SKIPPED:
        return console->dim;
    case VERDICT_NOT_REPRODUCED:
    case VERDICT_DIFFERENT:
    case VERDICT_FAILED:
    case VERDICT_COUNT:
        break;
    }
    return console->bad;
}

static void print_row(const struct console *console, const struct summary_row *row)
{
    bool promised = row->expectation != NULL;

    fprintf(console->stream, "%s  %-*s%*s  %*s   %-*s%-*s%s", promised ? "" : console->dim,
            MEASURE - 2, row->measure, VALUE, row->before, VALUE, row->after, EFFECT, row->effect,
            row->expectation != NULL && summary_is_unmet(row->expectation) ? INTERVAL : 0,
            row->interval, promised ? "" : console->plain);
    if (row->expectation != NULL && summary_is_unmet(row->expectation))
        fprintf(console->stream, "%s%s%s",
                row->expectation->outcome == OUTCOME_NOT_MET ? console->bad : console->doubtful,
                outcome_name(row->expectation->outcome), console->plain);
    fputc('\n', console->stream);
}

/* "item_sync  loss_every 1 -> 20          reproduced" */
static void print_heading(const struct console *console, const struct scenario_result *result)
{
    const struct scenario *scenario = result->scenario;
    const char *verdict = verdict_name(result->verdict);
    char change[128];
    int used, room;

    summary_change(change, sizeof change, result);
    used = (int)strlen(scenario->name) + 2 + (int)strlen(change);
    room = LINE - used - (int)strlen(verdict);
    fprintf(console->stream, "\n%s%s%s  %s%*s%s%s%s\n", console->bold, scenario->name,
            console->plain, change, room > 2 ? room : 2, "",
            verdict_colour(console, result->verdict), verdict, console->plain);
}

static void print_scenario(const struct console *console, const struct scenario_result *result)
{
    struct summary_row rows[SUMMARY_ROWS];
    int count = summary_rows(result, rows);
    char findings[FINDINGS_LINE];
    char note[SUMMARY_NOTE_SIZE];

    print_heading(console, result);
    for (int i = 0; i < count; i++) print_row(console, &rows[i]);
    if (result->verdict == VERDICT_SKIPPED || result->verdict == VERDICT_FAILED) {
        fputs("  ", console->stream);
        wrap_print(console->stream, 2, 2, console->width, result->reason);
    }
    for (int i = 0; i < SUMMARY_NOTES; i++)
        if (summary_notes[i](note, sizeof note, result)) {
            fprintf(console->stream, "  %s", console->doubtful);
            wrap_print(console->stream, 2, 2, console->width, note);
            fputs(console->plain, console->stream);
        }
    if (result_findings_line(findings, result)) {
        fputs("  ", console->stream);
        wrap_print(console->stream, 2, 4, console->width, findings);
    }
    if (result->damaged_samples > 0)
        fprintf(console->stream, "  %s%lld samples could not be decoded and were replaced%s\n",
                console->doubtful, (long long)result->damaged_samples, console->plain);
}

static bool has_doubts(const struct scenario_result *result)
{
    return result->verdict == VERDICT_NOT_REPRODUCED || result->verdict == VERDICT_DIFFERENT ||
           result->verdict == VERDICT_UNDECIDED;
}

/* Each expectation that was not met and why; where there is none, the verdict's own reason. */
static void print_doubts(const struct console *console, const struct scenario_result *result)
{
    bool explained = false;

    for (int i = 0; i < result->expectation_count; i++) {
        const struct expectation_result *expectation = &result->expectations[i];
        if (!summary_is_unmet(expectation))
            continue;
        fprintf(console->stream, "  %s: ", result->scenario->name);
        wrap_print(console->stream, (int)strlen(result->scenario->name) + 4, 4, console->width,
                   expectation->reason);
        explained = true;
    }
    if (!explained || !result->losses_agree) {
        fprintf(console->stream, "  %s: ", result->scenario->name);
        wrap_print(console->stream, (int)strlen(result->scenario->name) + 4, 4, console->width,
                   result->reason);
    }
}

void console_table(const struct console *console, const struct scenario_result *results, int count)
{
    bool doubts = false;
    char counts[160];

    if (count == 0)
        return;
    fprintf(console->stream, "%s%-*s%*s  %*s   %-*s%s%s\n", console->dim, MEASURE, "", VALUE,
            summary_side(results, VARIANT_BEFORE), VALUE, summary_side(results, VARIANT_AFTER),
            EFFECT, "effect", "interval", console->plain);
    for (int i = 0; i < count; i++) print_scenario(console, &results[i]);
    for (int i = 0; i < count; i++) doubts = doubts || has_doubts(&results[i]);
    if (doubts)
        fprintf(console->stream, "\n%s%s%s\n", console->bold,
                results[0].protocol.aa ? "Not the same" : "Not as promised", console->plain);
    for (int i = 0; i < count; i++)
        if (has_doubts(&results[i]))
            print_doubts(console, &results[i]);
    summary_counts(counts, sizeof counts, results, count);
    fprintf(console->stream, "\n%s%s%s\n", console->bold, counts, console->plain);
}
