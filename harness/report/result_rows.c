#include "harness/report/result_rows.h"

#include "harness/base/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Google Benchmark's four, in its order. */
static const struct aggregate {
    const char *name, *unit;
    double (*of)(const double *values, int count);
} aggregates[] = {
    { "mean", "time", stats_mean },
    { "median", "time", stats_median },
    { "stddev", "time", stats_deviation },
    { "cv", "percentage", stats_cv },
};

/* What all rows of one variant share. */
struct variant_rows {
    struct json *json;
    cJSON *benchmarks;
    const struct repetition *repetitions;
    int count;
    int family, instance;
    char name[96];
    double *values; /* [count]: scratch for one column */
};

/* A column of a row: a number a repetition. */
typedef double column_fn(const struct repetition *repetition, enum metric metric);

static double column_metric(const struct repetition *repetition, enum metric metric)
{
    return repetition->metric[metric];
}

/* us of processor time a step. A step is that of step_time: the same samples in both variants. */
static double column_cpu_time(const struct repetition *repetition, enum metric metric)
{
    (void)metric;
    return repetition->metric[METRIC_STEP_TIME] * (double)repetition->cpu_ns /
           (double)repetition->wall_ns;
}

static double aggregate_column(const struct variant_rows *rows, const struct aggregate *aggregate,
                               column_fn *column, enum metric metric)
{
    for (int i = 0; i < rows->count; i++) rows->values[i] = column(&rows->repetitions[i], metric);
    return aggregate->of(rows->values, rows->count);
}

static cJSON *begin_row(const struct variant_rows *rows, const struct aggregate *aggregate,
                        int repetition)
{
    cJSON *row = json_object(rows->json, rows->benchmarks, NULL);
    char name[128];

    snprintf(name, sizeof name, "%s%s%s", rows->name, aggregate != NULL ? "_" : "",
             aggregate != NULL ? aggregate->name : "");
    json_text(rows->json, row, "name", name);
    json_integer(rows->json, row, "family_index", rows->family);
    json_integer(rows->json, row, "per_family_instance_index", rows->instance);
    json_text(rows->json, row, "run_name", rows->name);
    json_text(rows->json, row, "run_type", aggregate != NULL ? "aggregate" : "iteration");
    json_integer(rows->json, row, "repetitions", rows->count);
    if (aggregate == NULL)
        json_integer(rows->json, row, "repetition_index", repetition);
    json_integer(rows->json, row, "threads", 1);
    if (aggregate != NULL) {
        json_text(rows->json, row, "aggregate_name", aggregate->name);
        json_text(rows->json, row, "aggregate_unit", aggregate->unit);
    }
    return row;
}

/* A window in which the device throttled is kept, and marked. */
static void add_label(struct json *json, cJSON *row, const struct repetition *repetition)
{
    int throttled = vitals_throttled(&repetition->vitals[0], &repetition->vitals[1]);
    char limits[64], label[96];

    if (throttled == 0)
        return;
    snprintf(label, sizeof label, "throttled: %s",
             health_limits_print(limits, sizeof limits, throttled));
    json_text(json, row, "label", label);
}

static void add_repetition(const struct variant_rows *rows, int index)
{
    const struct repetition *repetition = &rows->repetitions[index];
    cJSON *row = begin_row(rows, NULL, index);

    json_integer(rows->json, row, "iterations", repetition->steps);
    json_number(rows->json, row, "real_time", repetition->metric[METRIC_STEP_TIME]);
    json_number(rows->json, row, "cpu_time", column_cpu_time(repetition, METRIC_STEP_TIME));
    json_text(rows->json, row, "time_unit", "us");
    for (int metric = METRIC_FIRST; metric < METRIC_COUNT; metric++)
        if (metric != METRIC_STEP_TIME)
            json_known_number(rows->json, row, metric_name((enum metric)metric),
                              repetition->metric[metric]);
    add_label(rows->json, row, repetition);
}

static void add_aggregate(const struct variant_rows *rows, const struct aggregate *aggregate)
{
    cJSON *row = begin_row(rows, aggregate, 0);

    json_integer(rows->json, row, "iterations", rows->count);
    json_number(rows->json, row, "real_time",
                aggregate_column(rows, aggregate, column_metric, METRIC_STEP_TIME));
    json_number(rows->json, row, "cpu_time",
                aggregate_column(rows, aggregate, column_cpu_time, METRIC_STEP_TIME));
    json_text(rows->json, row, "time_unit", "us");
    for (int metric = METRIC_FIRST; metric < METRIC_COUNT; metric++)
        if (metric != METRIC_STEP_TIME)
            json_known_number(
                rows->json, row, metric_name((enum metric)metric),
                aggregate_column(rows, aggregate, column_metric, (enum metric)metric));
}

bool result_has_rows(const struct scenario_result *result)
{
    if (result->verdict == VERDICT_SKIPPED || result->verdict == VERDICT_FAILED)
        return false;
    for (int variant = 0; variant < VARIANT_COUNT; variant++)
        for (int i = 0; i < result->pairs; i++) {
            const struct repetition *repetition = &result->repetitions[variant][i];
            double step_time = repetition->metric[METRIC_STEP_TIME];
            if (!(isfinite(step_time) && step_time > 0) || repetition->wall_ns <= 0)
                return false;
        }
    return result->pairs > 0;
}

void result_rows_add(struct json *json, cJSON *benchmarks, const struct scenario_result *result,
                     int family)
{
    double *values = malloc(sizeof *values * (size_t)result->pairs);

    if (values == NULL) {
        json->out_of_memory = true;
        return;
    }
    for (int variant = 0; variant < VARIANT_COUNT; variant++) {
        struct variant_rows rows = {
            .json = json,
            .benchmarks = benchmarks,
            .repetitions = result->repetitions[variant],
            .count = result->pairs,
            .family = family,
            .instance = variant,
            .values = values,
        };
        if (result->protocol.aa)
            snprintf(rows.name, sizeof rows.name, "%s/aa:%d", result->scenario->name, variant + 1);
        else
            snprintf(rows.name, sizeof rows.name, "%s/%s", result->scenario->name,
                     variant_name((enum variant)variant));
        for (int i = 0; i < rows.count; i++) add_repetition(&rows, i);
        for (size_t i = 0; rows.count > 1 && i < ARRAY_SIZE(aggregates); i++)
            add_aggregate(&rows, &aggregates[i]);
    }
    free(values);
}
