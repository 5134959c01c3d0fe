#include "harness/report/run_table.h"

#include "harness/report/result_findings.h"
#include "harness/report/result_summary.h"

static const enum ink verdict_inks[VERDICT_COUNT] = {
    [VERDICT_REPRODUCED] = INK_GOOD,    [VERDICT_NO_DIFFERENCE] = INK_GOOD,
    [VERDICT_UNDECIDED] = INK_DOUBTFUL, [VERDICT_SKIPPED] = INK_DIM,
    [VERDICT_NOT_REPRODUCED] = INK_BAD, [VERDICT_DIFFERENT] = INK_BAD,
    [VERDICT_FAILED] = INK_BAD,
};

/* 80 columns in all. */
enum { COLUMNS = 6 };

static void print_headings(const struct page *page, struct column columns[COLUMNS],
                           const struct scenario_result *results)
{
    static const struct column all[COLUMNS] = {
        { "", -22 }, { "", 8 }, { "", 8 }, { "effect", -12 }, { "interval", -14 }, { "", -9 },
    };

    for (int i = 0; i < COLUMNS; i++) columns[i] = all[i];
    columns[1].heading = summary_side(results, VARIANT_BEFORE);
    columns[2].heading = summary_side(results, VARIANT_AFTER);
    page_table(page, columns, COLUMNS);
}

/* A measure of which nothing is promised is dim. */
static void print_row(const struct page *page, const struct column columns[COLUMNS],
                      const struct summary_row *row)
{
    const struct expectation_result *expectation = row->expectation;
    bool unmet = expectation != NULL && summary_is_unmet(expectation);
    enum ink ink = expectation != NULL ? INK_PLAIN : INK_DIM;
    const enum ink inks[COLUMNS] = {
        ink, ink, ink,
        ink, ink, unmet && expectation->outcome == OUTCOME_NOT_MET ? INK_BAD : INK_DOUBTFUL,
    };
    const char *const cells[COLUMNS] = {
        row->measure, row->before,   row->after,
        row->effect,  row->interval, unmet ? outcome_name(expectation->outcome) : "",
    };

    page_row_inked(page, columns, COLUMNS, cells, inks);
}

static void print_rows(const struct page *page, struct column columns[COLUMNS],
                       const struct scenario_result *result)
{
    struct summary_row rows[SUMMARY_ROWS];
    int count = summary_rows(result, rows);

    if (page->markdown && count > 0)
        print_headings(page, columns, result);
    for (int i = 0; i < count; i++) print_row(page, columns, &rows[i]);
}

static void print_remarks(const struct page *page, const struct scenario_result *result)
{
    char findings[FINDINGS_LINE], note[SUMMARY_NOTE_SIZE];

    if (result->verdict == VERDICT_SKIPPED || result->verdict == VERDICT_FAILED)
        page_paragraph(page, INK_PLAIN, "%s", result->reason);
    for (int i = 0; i < SUMMARY_NOTES; i++)
        if (summary_notes[i](note, sizeof note, result))
            page_paragraph(page, INK_DOUBTFUL, "%s", note);
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

    for (int i = 0; i < result->expectation_count; i++) {
        if (!summary_is_unmet(&result->expectations[i]))
            continue;
        page_note(page, name, result->expectations[i].reason);
        explained = true;
    }
    if (!explained || !result->losses_agree)
        page_note(page, name, result->reason);
}

static void print_all_doubts(const struct page *page, const struct scenario_result *results,
                             int count)
{
    bool headed = false;

    for (int i = 0; i < count; i++) {
        if (!has_doubts(&results[i]))
            continue;
        if (!headed)
            page_heading(page, results[0].protocol.aa ? "Not the same" : "Expectations not met");
        headed = true;
        print_doubts(page, &results[i]);
    }
}

void run_table(const struct page *page, const struct scenario_result *results, int count)
{
    struct column columns[COLUMNS];
    char counts[160], change[128];

    if (count == 0)
        return;
    if (!page->markdown)
        print_headings(page, columns, results);
    for (int i = 0; i < count; i++) {
        summary_change(change, sizeof change, &results[i]);
        page_entry(page, results[i].scenario->name, change, verdict_inks[results[i].verdict],
                   verdict_name(results[i].verdict));
        print_rows(page, columns, &results[i]);
        print_remarks(page, &results[i]);
    }
    print_all_doubts(page, results, count);
    summary_counts(counts, sizeof counts, results, count);
    page_summary(page, "%s", counts);
}
