/* An iteration is a training step. Its processor time is its share of the window's. */
#include "harness/lab/result/result_rows.h"

#include "harness/text/benchmark_rows.h"

#include <math.h>
#include <stdio.h>

/* The time of a step is the time of its row and no counter, so metrics behind it come one
 * earlier. */
enum metric metric_of_counter(int counter)
{
    enum metric metric = (enum metric)(METRIC_FIRST + counter);

    return metric < METRIC_STEP_TIME ? metric : (enum metric)(metric + 1);
}

const char *metric_counter_name(int counter)
{
    return metric_name(metric_of_counter(counter));
}

static int64_t iterations_of(const void *repetitions, int repetition)
{
    return ((const struct repetition *)repetitions)[repetition].steps;
}

/* us. The processor time is per step, and a step is that of step_time: the same samples in both
 * variants. */
static double value_of(const void *repetitions, int column, int repetition)
{
    const struct repetition *one = (const struct repetition *)repetitions + repetition;

    if (column == BENCHMARK_REAL_TIME)
        return one->metric[METRIC_STEP_TIME];
    if (column == BENCHMARK_CPU_TIME)
        return one->metric[METRIC_STEP_TIME] * (double)one->cpu_ns / (double)one->wall_ns;
    return one->metric[metric_of_counter(column)];
}

/* A window in which the device throttled is kept, and marked. */
static bool label_of(const void *repetitions, int repetition, char *text, size_t size)
{
    const struct device_vitals *vitals =
        ((const struct repetition *)repetitions)[repetition].vitals;
    int throttled = vitals_throttled(&vitals[0], &vitals[1]);
    char limits[64];

    snprintf(text, size, "throttled: %s", health_limits_print(limits, sizeof limits, throttled));
    return throttled != 0;
}

bool result_has_rows(const struct scenario_result *result)
{
    if (result->unmeasured || result->verdict == VERDICT_SKIPPED ||
        result->verdict == VERDICT_FAILED)
        return false;
    for (int variant = 0; variant < VARIANT_COUNT; variant++)
        for (int i = 0; i < result->pairs; i++) {
            const struct repetition *repetition = &result->repetitions[variant][i];
            double step_time = repetition->metric[METRIC_STEP_TIME];
            /* A row of no time would make Google Benchmark's compare.py drop its overall figure. */
            if (!(isfinite(step_time) && step_time > 0) || repetition->wall_ns <= 0)
                return false;
        }
    return result->pairs > 0;
}

void result_rows_add(struct json *json, cJSON *benchmarks, const struct scenario_result *result,
                     int family, bool aggregates_only)
{
    for (int variant = 0; variant < VARIANT_COUNT; variant++) {
        char name[96];
        const struct benchmark_rows rows = {
            .name = name,
            .time_unit = "us",
            .family = family,
            .instance = variant,
            .repetitions = result->pairs,
            .counters = METRIC_COUNTERS,
            .result = result->repetitions[variant],
            .counter = metric_counter_name,
            .iterations = iterations_of,
            .value = value_of,
            .label = label_of,
            .aggregates_only = aggregates_only,
        };

        if (result->protocol.aa)
            snprintf(name, sizeof name, "%s/aa:%d", result->scenario->name, variant + 1);
        else
            snprintf(name, sizeof name, "%s/%s", result->scenario->name,
                     variant_name((enum variant)variant));
        benchmark_rows_add(json, benchmarks, &rows);
    }
}
