#include "harness/bench/bench_rows.h"

#include <stdio.h>

static void add_times(struct json *json, cJSON *row, int64_t iterations, double wall, double cpu)
{
    json_integer(json, row, "iterations", iterations);
    json_number(json, row, "real_time", wall);
    json_number(json, row, "cpu_time", cpu);
    json_text(json, row, "time_unit", "ns");
}

static void add_identity(struct json *json, cJSON *row, const struct bench_result *result,
                         int family, int instance, const char *type)
{
    json_integer(json, row, "family_index", family);
    json_integer(json, row, "per_family_instance_index", instance);
    json_text(json, row, "run_name", result->name);
    json_text(json, row, "run_type", type);
    json_integer(json, row, "repetitions", result->count);
}

static void add_repetition(struct json *json, cJSON *benchmarks, const struct bench_result *result,
                           int family, int instance, int index)
{
    cJSON *row = json_object(json, benchmarks, NULL);

    json_text(json, row, "name", result->name);
    add_identity(json, row, result, family, instance, "iteration");
    json_integer(json, row, "repetition_index", index);
    json_integer(json, row, "threads", 1);
    add_times(json, row, result->iterations, result->real_ns[index], result->cpu_ns[index]);
    for (int i = 0; i < BENCH_COUNTERS; i++)
        json_known_number(json, row, bench_counters[i].name, bench_counters[i].of(result, index));
}

static void add_aggregate(struct json *json, cJSON *benchmarks, const struct bench_result *result,
                          int family, int instance, const struct bench_aggregate *aggregate)
{
    cJSON *row = json_object(json, benchmarks, NULL);
    double values[BENCH_REPETITIONS_MAX];
    char name[128];

    snprintf(name, sizeof name, "%s_%s", result->name, aggregate->name);
    json_text(json, row, "name", name);
    add_identity(json, row, result, family, instance, "aggregate");
    json_integer(json, row, "threads", 1);
    json_text(json, row, "aggregate_name", aggregate->name);
    json_text(json, row, "aggregate_unit", aggregate->unit);
    add_times(json, row, result->count, aggregate->of(result->real_ns, result->count),
              aggregate->of(result->cpu_ns, result->count));
    for (int i = 0; i < BENCH_COUNTERS; i++) {
        if (!bench_counter_is_known(&bench_counters[i], result))
            continue;
        bench_counter_values(&bench_counters[i], result, values);
        json_known_number(json, row, bench_counters[i].name, aggregate->of(values, result->count));
    }
}

void bench_rows_add(struct json *json, cJSON *benchmarks, const struct bench_result *result,
                    int family, int instance)
{
    bool has_aggregates = result->count > 1;

    for (int i = 0; i < result->count; i++)
        add_repetition(json, benchmarks, result, family, instance, i);
    for (int i = 0; has_aggregates && i < BENCH_AGGREGATES; i++)
        add_aggregate(json, benchmarks, result, family, instance, &bench_aggregates[i]);
}
