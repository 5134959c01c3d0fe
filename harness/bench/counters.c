/* A counter is a function of a result and a repetition, so that medians, aggregates and files take
 * the same numbers. */
#include "harness/bench/counters.h"

#include <math.h>

/* A bench that moves or computes nothing has no such rate. */
static double rate(int64_t amount, double ns)
{
    return amount > 0 ? (double)amount * 1e9 / ns : NAN;
}

static double bus_bytes_of(const struct bench_result *result, int repetition)
{
    return rate(result->bytes, result->real_ns[repetition]) *
           (result->bus_factor > 0 ? result->bus_factor : NAN);
}

static double bytes_of(const struct bench_result *result, int repetition)
{
    return rate(result->bytes, result->real_ns[repetition]);
}

static double flops_of(const struct bench_result *result, int repetition)
{
    return rate(result->flops, result->real_ns[repetition]);
}

static double items_of(const struct bench_result *result, int repetition)
{
    return rate(result->items, result->real_ns[repetition]);
}

static double share_of(const struct bench_result *result, int repetition)
{
    return result->roof_ns > 0 ? result->roof_ns / result->real_ns[repetition] : NAN;
}

const struct bench_counter bench_counters[BENCH_COUNTERS] = {
    { "bus_bytes_per_second", "B/s", bus_bytes_of },
    { "bytes_per_second", "B/s", bytes_of },
    { "flops_per_second", "FLOP/s", flops_of },
    { "items_per_second", "/s", items_of },
    { "roofline_share", NULL, share_of },
};

bool bench_counter_is_known(const struct bench_counter *counter, const struct bench_result *result)
{
    return result->count > 0 && isfinite(counter->of(result, 0));
}

void bench_counter_values(const struct bench_counter *counter, const struct bench_result *result,
                          double *values)
{
    for (int i = 0; i < result->count; i++) values[i] = counter->of(result, i);
}

/* --- Rows of a file --- */

static const char *counter_name(int counter)
{
    return bench_counters[counter].name;
}

static int64_t iterations_of(const void *result, int repetition)
{
    (void)repetition;
    return ((const struct bench_result *)result)->iterations;
}

static double value_of(const void *context, int column, int repetition)
{
    const struct bench_result *result = context;

    if (column == BENCHMARK_REAL_TIME)
        return result->real_ns[repetition];
    if (column == BENCHMARK_CPU_TIME)
        return result->cpu_ns[repetition];
    return bench_counters[column].of(result, repetition);
}

const struct bench_unit bench_units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };

void bench_rows_add(struct json *json, cJSON *benchmarks, const struct bench_result *result,
                    int family, int instance, const struct bench_unit *unit, bool aggregates_only)
{
    const struct benchmark_rows rows = {
        .name = result->name,
        .time_unit = unit->name,
        .unit = unit->ns,
        .aggregates_only = aggregates_only,
        .family = family,
        .instance = instance,
        .repetitions = result->count,
        .counters = BENCH_COUNTERS,
        .result = result,
        .counter = counter_name,
        .iterations = iterations_of,
        .value = value_of,
    };

    benchmark_rows_add(json, benchmarks, &rows);
}
