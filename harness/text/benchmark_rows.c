/* Members have the names that Google Benchmark's tools look for. An aggregate is computed column by
 * column, over the values of all repetitions. */
#include "harness/text/benchmark_rows.h"

#include "harness/base/figures/statistics.h"

#include <stdio.h>
#include <stdlib.h>

const struct benchmark_aggregate benchmark_aggregates[BENCHMARK_AGGREGATES] = {
    { "mean", "time", false, stats_mean },
    { "median", "time", false, stats_median },
    { "stddev", "time", false, stats_deviation },
    { "cv", "percentage", true, stats_cv },
};

/* A row of a repetition, or of an aggregate where there is one. */
static cJSON *begin_row(struct json *json, cJSON *benchmarks, const struct benchmark_rows *rows,
                        const struct benchmark_aggregate *aggregate, int repetition)
{
    cJSON *row;
    char name[160];

    snprintf(name, sizeof name, "%s%s%s", rows->name, aggregate != NULL ? "_" : "",
             aggregate != NULL ? aggregate->name : "");
    row = JSON_ROW(json, benchmarks, KEY("name", name), KEY("family_index", rows->family),
                   KEY("per_family_instance_index", rows->instance), KEY("run_name", rows->name),
                   KEY("run_type", aggregate != NULL ? "aggregate" : "iteration"),
                   KEY("repetitions", rows->repetitions));
    if (aggregate == NULL)
        json_integer(json, row, "repetition_index", repetition);
    json_integer(json, row, "threads", 1);
    if (aggregate != NULL)
        JSON_ADD(json, row, KEY("aggregate_name", aggregate->name),
                 KEY("aggregate_unit", aggregate->unit));
    return row;
}

/* A time in the unit of the file. */
static double value_of(const struct benchmark_rows *rows, int column, int repetition)
{
    double value = rows->value(rows->result, column, repetition);

    return column < 0 && rows->unit > 0 ? value / rows->unit : value;
}

static void add_repetition(struct json *json, cJSON *benchmarks, const struct benchmark_rows *rows,
                           int repetition)
{
    cJSON *row = begin_row(json, benchmarks, rows, NULL, repetition);
    const void *result = rows->result;
    char label[128];

    JSON_ADD(json, row, KEY("iterations", rows->iterations(result, repetition)),
             KEY("real_time", value_of(rows, BENCHMARK_REAL_TIME, repetition)),
             KEY("cpu_time", value_of(rows, BENCHMARK_CPU_TIME, repetition)),
             KEY("time_unit", rows->time_unit));
    for (int i = 0; i < rows->counters; i++)
        json_known_number(json, row, rows->counter(i), rows->value(result, i, repetition));
    if (rows->label != NULL && rows->label(result, repetition, label, sizeof label))
        json_text(json, row, "label", label);
}

/* `values` is scratch for one column. */
static double aggregate_column(const struct benchmark_rows *rows,
                               const struct benchmark_aggregate *aggregate, int column,
                               double *values)
{
    for (int i = 0; i < rows->repetitions; i++) values[i] = value_of(rows, column, i);
    return aggregate->of(values, rows->repetitions);
}

static void add_aggregate(struct json *json, cJSON *benchmarks, const struct benchmark_rows *rows,
                          const struct benchmark_aggregate *aggregate, double *values)
{
    cJSON *row = begin_row(json, benchmarks, rows, aggregate, 0);

    JSON_ADD(json, row, KEY("iterations", rows->repetitions),
             KEY("real_time", aggregate_column(rows, aggregate, BENCHMARK_REAL_TIME, values)),
             KEY("cpu_time", aggregate_column(rows, aggregate, BENCHMARK_CPU_TIME, values)),
             KEY("time_unit", rows->time_unit));
    for (int i = 0; i < rows->counters; i++)
        json_known_number(json, row, rows->counter(i),
                          aggregate_column(rows, aggregate, i, values));
}

void benchmark_rows_add(struct json *json, cJSON *benchmarks, const struct benchmark_rows *rows)
{
    double *values = calloc((size_t)rows->repetitions + 1, sizeof *values);

    if (values == NULL) {
        json->out_of_memory = true;
        return;
    }
    for (int i = 0; i < rows->repetitions && !(rows->aggregates_only && rows->repetitions > 1); i++)
        add_repetition(json, benchmarks, rows, i);
    for (int i = 0; rows->repetitions > 1 && i < BENCHMARK_AGGREGATES; i++)
        add_aggregate(json, benchmarks, rows, &benchmark_aggregates[i], values);
    free(values);
}

const cJSON *benchmark_scenarios(const cJSON *root)
{
    return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(root, "chokepoint"),
                                            "scenarios");
}
