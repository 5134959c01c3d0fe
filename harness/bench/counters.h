/* The figures of a row besides its times: counters, as Google Benchmark calls them. */
#pragma once

#include "harness/bench/bench_measure.h"
#include "harness/text/benchmark_rows.h"

struct bench_counter {
    const char *name;
    const char *unit; /* of a rate: "B/s"; NULL: a share, 0.93 is printed as 93% */
    double (*of)(const struct bench_result *result, int repetition); /* NaN: it has none */
};

/* In the order of their names, as Google Benchmark writes them: bytes (of a collective, also those
 * that each rank sends), flops and items per second, and `roofline_share`: the least time that the
 * device's own limits allow over the time that it took. */
extern const struct bench_counter bench_counters[];
enum { BENCH_COUNTERS = 5 };

/* Whether the result has it. */
bool bench_counter_is_known(const struct bench_counter *counter, const struct bench_result *result);

/* Its value in each repetition, [result->count]. */
void bench_counter_values(const struct bench_counter *counter, const struct bench_result *result,
                          double *values);

/* Units of time, and how many ns each has. */
struct bench_unit {
    const char *name;
    double ns;
};
#define BENCH_UNIT_NAMES "ns|us|ms|s"
extern const struct bench_unit bench_units[];

/* Adds the rows of a result as Google Benchmark writes them, times in `unit`. `family` counts
 * benches from 0, `instance` a bench's rows. */
void bench_rows_add(struct json *json, cJSON *benchmarks, const struct bench_result *result,
                    int family, int instance, const struct bench_unit *unit, bool aggregates_only);
