/* Rows of benches: for people as they come, and in a file as Google Benchmark writes it. Times are ns
 * for ever. */
#ifndef HARNESS_BENCH_BENCH_ROWS_H
#define HARNESS_BENCH_BENCH_ROWS_H

#include "harness/bench/timing.h"
#include "harness/report/console.h"
#include "harness/report/json.h"

void bench_print_heading(const struct console *console, int name_width);
void bench_print_row(const struct console *console, int name_width,
                     const struct bench_result *result);

/* A bench that could not be measured, and why. */
void bench_print_failure(const struct console *console, int name_width, const char *name,
                         const char *why);

/* Adds a row each repetition, and their mean, median, stddev and cv where there are two or more;
 * with `aggregates_only`, those only. `family` counts benches from 0, `instance` a bench's rows. */
void bench_rows_add(struct json *json, cJSON *benchmarks, const struct bench_result *result,
                    int family, int instance, bool aggregates_only);

#endif
