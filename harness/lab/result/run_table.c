/* All rows are collected before the first is printed, so that one layout fits them all. */
#include "harness/lab/result/result_findings.h"
#include "harness/lab/result/result_summary.h"
#include "harness/lab/result/utilisation.h"
#include "harness/text/page_rows.h"

static const enum ink verdict_inks[VERDICT_COUNT] = {
    [VERDICT_REPRODUCED] = INK_GOOD,    [VERDICT_NO_DIFFERENCE] = INK_GOOD,
    [VERDICT_UNDECIDED] = INK_DOUBTFUL, [VERDICT_SKIPPED] = INK_DIM,
    [VERDICT_NOT_REPRODUCED] = INK_BAD, [VERDICT_DIFFERENT] = INK_BAD,
    [VERDICT_FAILED] = INK_BAD,
};

enum { COLUMNS = 6 };

/* The verdict of a row on its promise; "": it is kept. While others used the cores, a promise that
 * is missed does not count. */
static const char *outcome_text(const struct expectation_result *expectation, enum verdict verdict)
{
    if (expectation == NULL || !summary_is_unmet(expectation))
        return "";
    return expectation->outcome == OUTCOME_NOT_MET && verdict == VERDICT_UNDECIDED
               ? "not counted"
               : outcome_name(expectation->outcome);
}

/* A measure of which nothing is promised is dim. */
static void add_row(struct page_rows *rows, const struct summary_row *row, enum verdict verdict)
{
    const struct expectation_result *expectation = row->expectation;
    bool missed = expectation != NULL && expectation->outcome == OUTCOME_NOT_MET &&
                  verdict != VERDICT_UNDECIDED;
    enum ink ink = expectation != NULL ? INK_PLAIN : INK_DIM;
    const enum ink inks[COLUMNS] = {
        ink, ink, ink, ink, ink, missed ? INK_BAD : INK_DOUBTFUL,
    };
    const char *const cells[COLUMNS] = {
        row->measure,       row->before,          row->after,
        row->change.effect, row->change.interval, outcome_text(expectation, verdict),
    };

    page_rows_add(rows, cells, inks);
}

/* Once, as it is the same for both where both have one peak. */
static void print_utilisation_doubt(const struct page *page, const struct scenario_result *result)
{
    char doubt[UTILISATION_DOUBT];

    for (int v = 0; v < VARIANT_COUNT; v++) {
        const struct utilisation utilisation = utilisation_of(result, (enum variant)v);
        if (!utilisation_doubt(doubt, &utilisation))
            continue;
        page_paragraph(page, INK_DOUBTFUL, "MFU is doubtful: %s", doubt);
        return;
    }
}

static void print_remarks(const struct page *page, const struct scenario_result *result)
{
    char findings[FINDINGS_LINE], note[SUMMARY_NOTE_SIZE], shares[UTILISATION_LINE];
    char too_fast[UTILISATION_TOO_FAST];

    if (result->verdict == VERDICT_SKIPPED || result->verdict == VERDICT_FAILED)
        page_paragraph(page, INK_PLAIN, "%s", result->reason);
    if (utilisation_line(shares, result))
        page_paragraph(page, INK_DIM, "%s", shares);
    print_utilisation_doubt(page, result);
    if (utilisation_too_fast(too_fast, result))
        page_paragraph(page, INK_DOUBTFUL, "%s", too_fast);
    for (int i = 0; i < SUMMARY_NOTES; i++)
        if (summary_notes[i](note, sizeof note, result))
            page_paragraph(page, INK_DOUBTFUL, "%s", note);
    for (int v = 0; v < VARIANT_COUNT; v++)
        if (result->tracing[v].reason[0] != '\0') /* though it was wanted */
            page_paragraph(page, INK_BAD, "no trace %s the fix: %s", variant_name((enum variant)v),
                           result->tracing[v].reason);
    if (result_findings_line(findings, result))
        page_paragraph(page, INK_PLAIN, "%s", findings);
    if (result->damaged_samples > 0)
        page_paragraph(page, INK_DOUBTFUL, "%lld samples could not be decoded and were replaced",
                       (long long)result->damaged_samples);
}

static bool has_doubts(const struct scenario_result *result)
{
    return result->verdict == VERDICT_NOT_REPRODUCED || result->verdict == VERDICT_DIFFERENT ||
           result->verdict == VERDICT_UNDECIDED;
}

/* Each expectation that was not met and why; where there is none, the verdict's own reason. */
static void print_doubts(const struct page *page, const struct scenario_result *result)
{
    const char *name = result->scenario->name;
    bool explained = false;

    if (result->verdict == VERDICT_UNDECIDED && !result->unmeasured &&
        cpu_loss_is_large(&result->cpu_loss))
        page_note(page, name,
                  "other programs used the cores, which can hide it: use a quieter machine; doctor "
                  "says what disturbs this one");
    for (int i = 0; i < result->expectation_count; i++) {
        if (!summary_is_unmet(&result->expectations[i]))
            continue;
        page_note(page, name, result->expectations[i].reason);
        explained = true;
    }
    if (!explained || !result->losses_agree)
        page_note(page, name, result->reason);
}

/* "Not met" and "too noisy to tell" are two things. */
static const char *doubts_heading(const struct scenario_result *results, int count)
{
    bool missed = false, undecided = false;

    for (int i = 0; i < count; i++) {
        missed = missed || (has_doubts(&results[i]) && results[i].verdict != VERDICT_UNDECIDED);
        undecided = undecided || results[i].verdict == VERDICT_UNDECIDED;
    }
    if (results[0].protocol.aa)
        return "Not the same";
    return !missed     ? "Too noisy to tell"
           : undecided ? "Expectations not met, or too noisy to tell"
                       : "Expectations not met";
}

static void print_all_doubts(const struct page *page, const struct scenario_result *results,
                             int count)
{
    bool headed = false;

    for (int i = 0; i < count; i++) {
        if (!has_doubts(&results[i]))
            continue;
        if (!headed)
            page_heading(page, doubts_heading(results, count));
        headed = true;
        print_doubts(page, &results[i]);
    }
}

/* The rows of all scenarios have one layout, and one heading on the console. */
void run_table(const struct page *page, const struct scenario_result *results, int count)
{
    struct summary_row own[SUMMARY_ROWS];
    struct page_rows *rows;
    char counts[160], change[128];
    int row = 0;

    if (count == 0)
        return;
    const struct column columns[COLUMNS] = {
        { "", -22, 0 },
        { summary_side(results, VARIANT_BEFORE), 8, 0 },
        { summary_side(results, VARIANT_AFTER), 8, 0 },
        { "effect", -12, 0 },
        { "95% interval", -12, 0 },
        { "", -11, 0 },
    };
    rows = page_rows_open(columns, COLUMNS);
    for (int i = 0; i < count; i++) {
        int own_count = summary_rows(&results[i], own);
        for (int j = 0; j < own_count; j++) add_row(rows, &own[j], results[i].verdict);
    }
    page_rows_fit(page, rows);
    if (!page->markdown)
        page_rows_heading(page, rows);
    for (int i = 0; i < count; i++) {
        /* Asked once more, only for how many rows this scenario has. */
        int end = row + summary_rows(&results[i], own);
        summary_change(change, sizeof change, &results[i]);
        page_entry(page, results[i].scenario->name, change, verdict_inks[results[i].verdict],
                   verdict_name(results[i].verdict));
        if (page->markdown && end > row)
            page_rows_heading(page, rows);
        page_rows_range(page, rows, row, end);
        print_remarks(page, &results[i]);
        row = end;
    }
    page_rows_close(rows);
    print_all_doubts(page, results, count);
    summary_counts(counts, sizeof counts, results, count);
    page_summary(page, "%s", counts);
}
