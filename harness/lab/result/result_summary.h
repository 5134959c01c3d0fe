/* A scenario's result in words and short figures, shared by the console and the Markdown table. */
#pragma once

#include "harness/base/figures/change_text.h"
#include "harness/lab/experiment/result.h"
#include "harness/text/page.h"

/* The step time, and a row per expectation. */
enum { SUMMARY_ROWS = SCENARIO_EXPECTATIONS + 1 };

struct summary_row {
    const char *measure; /* the metric's name */
    char before[QUANTITY_SIZE], after[QUANTITY_SIZE];
    struct change_text change;
    const struct expectation_result *expectation; /* NULL: nothing is promised for it */
};

/* The rows of a result, the step time first, then what is promised on this device; none where
 * nothing was measured. */
int summary_rows(const struct scenario_result *result, struct summary_row rows[SUMMARY_ROWS]);

/* An expectation in words: "syncs_per_step: down at least 10x", "step_time: at most 1.4x
 * slower". */
void summary_expectation(char *text, size_t size, const struct expectation *expectation);

/* The two sides of the comparison: "loss_every 1 -> 20", "loss_every 1 -> 1 (A/A)". */
void summary_change(char *text, size_t size, const struct scenario_result *result);

/* The name of a side of these results: "before" and "after"; in A/A "side 1" and "side 2". */
const char *summary_side(const struct scenario_result *result, enum variant variant);

/* A sentence on what to keep in mind with a result; false where there is nothing. */
typedef bool summary_note(char *text, size_t size, const struct scenario_result *result);

/* "2 of 18 windows were throttled (power); they still count"; false where none was. */
summary_note summary_throttled;

/* "other programs used 1.30 of 2 cores during the measurement, ...", or a virtual machine's host
 * kept them; false where it was less than a tenth of the cores. */
summary_note summary_disturbed;

/* A control group's quota, which may be why nothing was decided; false where something was, or
 * there is no quota. */
summary_note summary_quota;

enum { SUMMARY_NOTES = 3, SUMMARY_NOTE_SIZE = 160 };
extern summary_note *const summary_notes[SUMMARY_NOTES]; /* all of them */

/* "6 scenarios: 4 reproduced, 1 undecided, 1 skipped". */
void summary_counts(char *text, size_t size, const struct scenario_result *results, int count);

/* Whether an expectation that should have been met was not. */
bool summary_is_unmet(const struct expectation_result *expectation);

/* The results of a run: the change in each scenario, its size, and the verdict. */

/* A part per scenario, then the expectations that were not met and why, then the totals. Nothing
 * for no results. */
void run_table(const struct page *page, const struct scenario_result *results, int count);
