/* Rows of benches for people, as they come, in the columns of Google Benchmark's console: name,
 * time, CPU time, iterations, counters. */
#pragma once

#include "harness/bench/counters.h"
#include "harness/text/page.h"

/* As in Google Benchmark, repetitions that were asked for have a line each and four more for their
 * aggregates. If noise decides how many there are, one line has the medians and the noise. */
struct bench_console {
    struct console console;
    int name_width;
    bool all_repetitions;          /* one line per repetition */
    bool aggregates_only;          /* without these lines, unless there is one repetition */
    bool tabular;                  /* counters have columns, where there is room */
    const struct bench_unit *unit; /* of times; NULL: each its own */

    bool headed;      /* the heading was printed */
    unsigned counted; /* a bit for each counter that has a column in it */
};

void bench_console_row(struct bench_console *console, const struct bench_result *result);

/* A row without a result, and why. */
void bench_console_failure(struct bench_console *console, const char *name, const char *why);
void bench_console_skip(struct bench_console *console, const char *name, const char *why);
