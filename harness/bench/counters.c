#include "harness/bench/counters.h"

#include "harness/base/statistics.h"

#include <math.h>

const struct bench_aggregate bench_aggregates[BENCH_AGGREGATES] = {
    { "mean", "time", false, stats_mean },
    { "median", "time", false, stats_median },
    { "stddev", "time", false, stats_deviation },
    { "cv", "percentage", true, stats_cv },
};

static double rate(int64_t amount, double ns)
{
    return amount > 0 ? (double)amount * 1e9 / ns : NAN;
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
    { "bytes_per_second", false, bytes_of },
    { "flops_per_second", false, flops_of },
    { "items_per_second", false, items_of },
    { "roofline_share", true, share_of },
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
