/* Results for people at a terminal. */
#ifndef HARNESS_REPORT_CONSOLE_H
#define HARNESS_REPORT_CONSOLE_H

#include "harness/experiment/result.h"
#include "harness/text/terminal.h"

/* The table: a block a scenario, with its change, verdict, and a row each measure; then why what was
 * promised did not show; then the totals. */
void console_table(const struct console *console, const struct scenario_result *results, int count);

#endif
