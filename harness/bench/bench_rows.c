#include "harness/bench/bench_rows.h"

#include "harness/experiment/statistics.h"
#include "harness/report/quantity.h"
#include "harness/report/wrap.h"

#include <stddef.h>
#include <stdio.h>

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

/* Rates by what an iteration does. */
static const struct rate {
    const char *name, *unit;
    size_t offset; /* of the int64_t in struct bench_result */
} rates[] = {
    { "flops_per_second", "FLOP/s", offsetof(struct bench_result, flops) },
    { "bytes_per_second", "B/s", offsetof(struct bench_result, bytes) },
    { "items_per_second", "/s", offsetof(struct bench_result, items) },
};

static int64_t amount(const struct bench_result *result, const struct rate *rate)
{
    return *(const int64_t *)((const char *)result + rate->offset);
}

static void print_rate(char *text, size_t size, double value, const char *unit)
{
    static const char *const prefixes[] = { "", "k", "M", "G", "T", "P" };
    size_t prefix = 0;

    for (; value >= 999.5 && prefix + 1 < ARRAY_SIZE(prefixes); prefix++) value /= 1000;
    snprintf(text, size, "%.3g %s%s", value, prefixes[prefix], unit);
}

void bench_print_heading(const struct console *console, int name_width)
{
    fprintf(console->stream, "%s%-*s  %10s  %10s  %12s  %6s  %s%s\n", console->dim, name_width,
            "bench", "time", "cpu", "iterations", "cv", "rate", console->plain);
}

void bench_print_row(const struct console *console, int name_width,
                     const struct bench_result *result)
{
    char wall[QUANTITY_SIZE], cpu[QUANTITY_SIZE], rate[64] = "";
    double real_ns = stats_median(result->real_ns, result->count);

    quantity_print(wall, real_ns * 1e-3, "us");
    quantity_print(cpu, stats_median(result->cpu_ns, result->count) * 1e-3, "us");
    for (size_t i = 0; i < ARRAY_SIZE(rates); i++)
        if (amount(result, &rates[i]) > 0 && rate[0] == '\0')
            print_rate(rate, sizeof rate, (double)amount(result, &rates[i]) * 1e9 / real_ns,
                       rates[i].unit);
    fprintf(console->stream, "%-*s  %10s  %10s  %12lld  ", name_width, result->name, wall, cpu,
            (long long)result->iterations);
    if (result->count > 1)
        fprintf(console->stream, "%5.1f%%", 100 * stats_cv(result->real_ns, result->count));
    else
        fprintf(console->stream, "%6s", "-");
    fprintf(console->stream, "  %s\n", rate);
    fflush(console->stream);
}

void bench_print_failure(const struct console *console, int name_width, const char *name,
                         const char *why)
{
    fprintf(console->stream, "%-*s  %sfailed:%s ", name_width, name, console->bad, console->plain);
    wrap_print(console->stream, name_width + 10, 4, console->width, why);
    fflush(console->stream);
}

static cJSON *begin_row(struct json *json, cJSON *benchmarks, const struct bench_result *result,
                        const struct aggregate *aggregate)
{
    cJSON *row = json_object(json, benchmarks, NULL);
    char name[128];

    snprintf(name, sizeof name, "%s%s%s", result->name, aggregate != NULL ? "_" : "",
             aggregate != NULL ? aggregate->name : "");
    json_text(json, row, "name", name);
    return row;
}

static void add_times(struct json *json, cJSON *row, int64_t iterations, double real_ns,
                      double cpu_ns)
{
    json_integer(json, row, "iterations", iterations);
    json_number(json, row, "real_time", real_ns);
    json_number(json, row, "cpu_time", cpu_ns);
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

static double rate_of(const struct bench_result *result, const struct rate *rate, int repetition)
{
    return (double)amount(result, rate) * 1e9 / result->real_ns[repetition];
}

static void add_repetition(struct json *json, cJSON *benchmarks, const struct bench_result *result,
                           int family, int instance, int index)
{
    cJSON *row = begin_row(json, benchmarks, result, NULL);

    add_identity(json, row, result, family, instance, "iteration");
    json_integer(json, row, "repetition_index", index);
    json_integer(json, row, "threads", 1);
    add_times(json, row, result->iterations, result->real_ns[index], result->cpu_ns[index]);
    for (size_t i = 0; i < ARRAY_SIZE(rates); i++)
        if (amount(result, &rates[i]) > 0)
            json_known_number(json, row, rates[i].name, rate_of(result, &rates[i], index));
}

static void add_aggregate(struct json *json, cJSON *benchmarks, const struct bench_result *result,
                          int family, int instance, const struct aggregate *aggregate)
{
    cJSON *row = begin_row(json, benchmarks, result, aggregate);
    double values[BENCH_REPETITIONS_MAX];

    add_identity(json, row, result, family, instance, "aggregate");
    json_integer(json, row, "threads", 1);
    json_text(json, row, "aggregate_name", aggregate->name);
    json_text(json, row, "aggregate_unit", aggregate->unit);
    add_times(json, row, result->count, aggregate->of(result->real_ns, result->count),
              aggregate->of(result->cpu_ns, result->count));
    for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
        if (amount(result, &rates[i]) == 0)
            continue;
        for (int j = 0; j < result->count; j++) values[j] = rate_of(result, &rates[i], j);
        json_known_number(json, row, rates[i].name, aggregate->of(values, result->count));
    }
}

void bench_rows_add(struct json *json, cJSON *benchmarks, const struct bench_result *result,
                    int family, int instance, bool aggregates_only)
{
    bool has_aggregates = result->count > 1;

    for (int i = 0; i < result->count && !(aggregates_only && has_aggregates); i++)
        add_repetition(json, benchmarks, result, family, instance, i);
    for (size_t i = 0; has_aggregates && i < ARRAY_SIZE(aggregates); i++)
        add_aggregate(json, benchmarks, result, family, instance, &aggregates[i]);
}
