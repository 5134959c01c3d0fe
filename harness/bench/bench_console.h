/* Rows of benches for people, as they come, in the columns of Google Benchmark's console: name, time, CPU
 * time, iterations, counters. */
#ifndef HARNESS_BENCH_BENCH_CONSOLE_H
#define HARNESS_BENCH_BENCH_CONSOLE_H

#include "harness/bench/counters.h"
#include "harness/text/terminal.h"

/* Which lines a row gets. Where Google Benchmark is asked for repetitions, each is a line and their
 * aggregates are four more; where noise decides how many there are, one line of medians says what the
 * noise is. */
enum bench_lines { LINES_MEDIAN, LINES_ALL, LINES_AGGREGATES };

struct bench_console {
    struct console console;
    int name_width;
    const struct time_unit *unit; /* NULL: each time in one of its own size */
    enum bench_lines lines;
    bool tabular; /* counters in columns of their own */

    unsigned heading; /* the columns of the last heading; 0: none yet */
};

void bench_console_row(struct bench_console *console, const struct bench_result *result);

/* A row that there is not, and why. */
void bench_console_failure(struct bench_console *console, const char *name, const char *why);
void bench_console_skip(struct bench_console *console, const char *name, const char *why);

#endif
