/* Results for people at a terminal. */
#ifndef HARNESS_REPORT_CONSOLE_H
#define HARNESS_REPORT_CONSOLE_H

#include "harness/experiment/experiment.h"

#include <stdbool.h>
#include <stdio.h>

enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* Whether `stream` gets colours: COLOR_AUTO means a terminal that is not "dumb", and NO_COLOR unset or
 * empty (https://no-color.org). */
bool console_is_coloured(enum color color, FILE *stream);

/* Colours and weights, as escape sequences or as nothing. */
struct console {
    FILE *stream;
    int width; /* columns */
    const char *bold, *dim, *good, *bad, *doubtful, *plain;
};
struct console console_open(FILE *stream, enum color color);

/* The table: a block a scenario, with its change, verdict, and a row each measure; then why what was
 * promised did not show; then the totals. */
void console_table(const struct console *console, const struct scenario_result *results, int count);

#endif
