/* This project's side of bench_overhead. */
#include "harness/base/figures/statistics.h"
#include "harness/bench/bench_measure.h"
#include "tests/tools/bench_overhead_body.h"

#include <stdio.h>

static struct device *device;

/* The number of steps is a constant to the loop, as it is on the other side. */
static enum status run(struct bench_work *work, int64_t iterations)
{
    const long steps = (long)work->argument;
    uint64_t value = 1;

    for (int64_t i = 0; i < iterations; i++) bench_overhead_body(&value, steps);
    return STATUS_OK;
}

static enum status run_empty(struct bench_work *work, int64_t iterations)
{
    uint64_t value = 1;

    (void)work;
    for (int64_t i = 0; i < iterations; i++) bench_overhead_body(&value, 0);
    return STATUS_OK;
}

static enum status set_up(struct bench_work *work)
{
    (void)work;
    return STATUS_OK;
}

static const struct bench bench = { .name = "body", .set_up = set_up, .run = run };
static const struct bench empty = { .name = "empty", .set_up = set_up, .run = run_empty };

int bench_overhead_open(void)
{
    const struct device_options options = { .spin_ns = -1 };

    if (device_open(&device, "cpu", &options) == STATUS_OK)
        return 0;
    fprintf(stderr, "bench_overhead: %s\n", status_last()->text);
    return 1;
}

double bench_overhead_ours(long steps, double min_seconds)
{
    struct bench_settings settings = bench_settings_default();
    struct bench_result result;

    settings.min_seconds = min_seconds;
    settings.repetitions = 5;
    if (bench_measure(&result, steps > 0 ? &bench : &empty, steps, device, &settings) != STATUS_OK)
        return -1;
    return stats_median(result.real_ns, result.count);
}
