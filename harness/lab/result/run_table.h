/* The results of a run: the change in each scenario, its size, and the verdict. */
#pragma once

#include "harness/lab/experiment/result.h"
#include "harness/text/page.h"

/* A part per scenario, then the expectations that were not met and why, then the totals. Nothing
 * for no results. */
void run_table(const struct page *page, const struct scenario_result *results, int count);
