/* Rows of Google Benchmark's `benchmarks`: what `run` and `bench` measured, as its tools read
 * it. */
#pragma once

#include "harness/text/json.h"

#include <stdbool.h>

/* Google Benchmark's four aggregates, in its order: mean, median, stddev, cv. */
struct benchmark_aggregate {
    const char *name, *unit; /* "median", "time" */
    bool is_ratio;           /* cv: a share, whatever the values are */
    double (*of)(const double *values, int count);
};
enum { BENCHMARK_MEDIAN = 1, BENCHMARK_AGGREGATES = 4 };
extern const struct benchmark_aggregate benchmark_aggregates[BENCHMARK_AGGREGATES];

/* Columns: the times, then counters from 0. */
enum { BENCHMARK_REAL_TIME = -2, BENCHMARK_CPU_TIME = -1 };

/* The facts that all rows of one benchmark share, and functions that find their values. */
struct benchmark_rows {
    const char *name, *time_unit;
    int family, instance; /* of the benchmark, and within its family; both from 0 */
    int repetitions, counters;
    double unit;          /* of time_unit, in that of the values; 0: the same */
    bool aggregates_only; /* leave out the repetitions, unless there is one */

    const void *result; /* given to each of these */
    const char *(*counter)(int counter);
    int64_t (*iterations)(const void *result, int repetition);
    double (*value)(const void *result, int column, int repetition); /* NaN: not measured */
    /* Why a repetition is marked; false, or NULL in place of the function: it is not. */
    bool (*label)(const void *result, int repetition, char *text, size_t size);
};

/* Adds a row per repetition and, where there are two or more, a row per aggregate. A counter
 * without a value is left out. */
void benchmark_rows_add(struct json *json, cJSON *benchmarks, const struct benchmark_rows *rows);

/* The scenarios that `run` writes beside the rows, of a whole file; NULL: it is not one of
 * `run`. */
const cJSON *benchmark_scenarios(const cJSON *root);
