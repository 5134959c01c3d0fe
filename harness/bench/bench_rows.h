/* Rows of benches in a file, as Google Benchmark writes them. */
#ifndef HARNESS_BENCH_BENCH_ROWS_H
#define HARNESS_BENCH_BENCH_ROWS_H

#include "harness/bench/counters.h"
#include "harness/text/json.h"

/* Adds a row each repetition, and their mean, median, stddev and cv where there are two or more, in ns.
 * `family` counts benches from 0, `instance` a bench's rows. */
void bench_rows_add(struct json *json, cJSON *benchmarks, const struct bench_result *result,
                    int family, int instance);

#endif
