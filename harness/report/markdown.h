/* Results as a Markdown table, for pull requests and job summaries. */
#ifndef HARNESS_REPORT_MARKDOWN_H
#define HARNESS_REPORT_MARKDOWN_H

#include "harness/experiment/result.h"

#include <stdio.h>

/* One row a measure, the scenario's name and verdict on its first; then why what was promised did not
 * show; then the totals. */
void markdown_table(FILE *stream, const struct scenario_result *results, int count);

#endif
