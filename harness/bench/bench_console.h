/* Rows of benches for people, as they come, in the columns of Google Benchmark's console: name, time, CPU
 * time, iterations, counters. */
#ifndef HARNESS_BENCH_BENCH_CONSOLE_H
#define HARNESS_BENCH_BENCH_CONSOLE_H

#include "harness/bench/counters.h"
#include "harness/text/terminal.h"

/* Where Google Benchmark is asked for repetitions, each is a line and their aggregates are four more; where
 * noise decides how many there are, one line of medians says what the noise is. */
struct bench_console {
    struct console console;
    int name_width;
    bool all_repetitions; /* a line each */

    bool headed; /* the heading was printed */
};

void bench_console_row(struct bench_console *console, const struct bench_result *result);

/* A row that there is not, and why. */
void bench_console_failure(struct bench_console *console, const char *name, const char *why);
void bench_console_skip(struct bench_console *console, const char *name, const char *why);

#endif
