/* The results of a run: the change in each scenario, its size, and the verdict. */
#ifndef HARNESS_REPORT_RUN_TABLE_H
#define HARNESS_REPORT_RUN_TABLE_H

#include "harness/experiment/result.h"
#include "harness/text/page.h"

/* A part per scenario, then the expectations that were not met and why, then the totals. Nothing for no
 * results. */
void run_table(const struct page *page, const struct scenario_result *results, int count);

#endif
