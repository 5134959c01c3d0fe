#include "harness/bench/bench_console.h"

#include "harness/base/quantity.h"
#include "harness/base/statistics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TIME_WIDTH = 12, ITERATIONS_WIDTH = 12 };

/* One line: times in ns, or a ratio of them, and the counters' values, NaN where there is none. */
struct line {
    char name[128];
    double real_ns, cpu_ns;
    bool is_ratio;
    int64_t iterations;
    double counters[BENCH_COUNTERS];
};

static void repeat_character(FILE *stream, char character, int count)
{
    for (int i = 0; i < count; i++) fputc(character, stream);
    fputc('\n', stream);
}

static void print_heading(struct bench_console *console)
{
    FILE *stream = console->console.stream;
    int width = console->name_width + 2 * (TIME_WIDTH + 1) + ITERATIONS_WIDTH + 1 +
                (int)strlen(" UserCounters...");

    if (console->headed)
        return;
    console->headed = true;
    repeat_character(stream, '-', width);
    fprintf(stream, "%-*s %*s %*s %*s UserCounters...\n", console->name_width, "Benchmark",
            TIME_WIDTH, "Time", TIME_WIDTH, "CPU", ITERATIONS_WIDTH, "Iterations");
    repeat_character(stream, '-', width);
}

static void print_time(const struct bench_console *console, double ns, bool is_ratio)
{
    char text[QUANTITY_SIZE];

    if (is_ratio)
        snprintf(text, sizeof text, "%.2f %%", 100 * ns);
    else
        quantity_print(text, ns * 1e-3, "us");
    fprintf(console->console.stream, " %*s", TIME_WIDTH, text);
}

/* "4.53G/s", "93.1%". */
static void counter_text(char *text, size_t size, double value, bool is_share, bool is_ratio)
{
    static const char *const prefixes[] = { "", "k", "M", "G", "T", "P" };
    size_t prefix = 0;

    if (is_share || is_ratio) {
        snprintf(text, size, "%.3g%%", 100 * value);
        return;
    }
    for (; value >= 999.5 && prefix + 1 < ARRAY_SIZE(prefixes); prefix++) value /= 1000;
    snprintf(text, size, "%.3g%s/s", value, prefixes[prefix]);
}

/* Without its line feed. */
static void print_line(struct bench_console *console, const struct line *line)
{
    FILE *stream = console->console.stream;

    print_heading(console);
    fprintf(stream, "%-*s", console->name_width, line->name);
    print_time(console, line->real_ns, line->is_ratio);
    print_time(console, line->cpu_ns, line->is_ratio);
    fprintf(stream, " %*lld", ITERATIONS_WIDTH, (long long)line->iterations);
    for (int i = 0; i < BENCH_COUNTERS; i++) {
        char text[32];
        if (!isfinite(line->counters[i]))
            continue;
        counter_text(text, sizeof text, line->counters[i], bench_counters[i].is_share,
                     line->is_ratio);
        fprintf(stream, " %s=%s", bench_counters[i].name, text);
    }
}

static struct line line_of_repetition(const struct bench_result *result, int index)
{
    struct line line = { .real_ns = result->real_ns[index],
                         .cpu_ns = result->cpu_ns[index],
                         .iterations = result->iterations };

    snprintf(line.name, sizeof line.name, "%s", result->name);
    for (int i = 0; i < BENCH_COUNTERS; i++) line.counters[i] = bench_counters[i].of(result, index);
    return line;
}

static struct line line_of_aggregate(const struct bench_result *result,
                                     const struct benchmark_aggregate *aggregate)
{
    struct line line = { .real_ns = aggregate->of(result->real_ns, result->count),
                         .cpu_ns = aggregate->of(result->cpu_ns, result->count),
                         .is_ratio = aggregate->is_ratio,
                         .iterations = result->count };
    double values[BENCH_REPETITIONS_MAX];

    snprintf(line.name, sizeof line.name, "%s_%s", result->name, aggregate->name);
    for (int i = 0; i < BENCH_COUNTERS; i++) {
        bench_counter_values(&bench_counters[i], result, values);
        line.counters[i] = aggregate->of(values, result->count);
    }
    return line;
}

static void print_median(struct bench_console *console, const struct bench_result *result)
{
    struct confidence_interval interval = stats_median_interval(result->real_ns, result->count);
    struct line line = line_of_aggregate(result, &benchmark_aggregates[BENCHMARK_MEDIAN]);

    snprintf(line.name, sizeof line.name, "%s", result->name);
    line.iterations = result->iterations;
    print_line(console, &line);
    if (stats_interval_is_enough(&interval))
        fprintf(console->console.stream, " noise=%.1f%%",
                50 * (interval.high - interval.low) / line.real_ns);
    fputc('\n', console->console.stream);
}

static void print_repetitions(struct bench_console *console, const struct bench_result *result)
{
    for (int i = 0; i < result->count; i++) {
        struct line line = line_of_repetition(result, i);
        print_line(console, &line);
        fputc('\n', console->console.stream);
    }
    for (int i = 0; result->count > 1 && i < BENCHMARK_AGGREGATES; i++) {
        struct line line = line_of_aggregate(result, &benchmark_aggregates[i]);
        print_line(console, &line);
        fputc('\n', console->console.stream);
    }
}

void bench_console_row(struct bench_console *console, const struct bench_result *result)
{
    if (console->all_repetitions || result->count < 2)
        print_repetitions(console, result);
    else
        print_median(console, result);
    fflush(console->console.stream);
}

void bench_console_failure(struct bench_console *console, const char *name, const char *why)
{
    print_heading(console);
    fprintf(console->console.stream, "%-*s %sERROR OCCURRED:%s '%s'\n", console->name_width, name,
            console->console.bad, console->console.plain, why);
    fflush(console->console.stream);
}

void bench_console_skip(struct bench_console *console, const char *name, const char *why)
{
    print_heading(console);
    fprintf(console->console.stream, "%-*s %sSKIPPED:%s '%s'\n", console->name_width, name,
            console->console.doubtful, console->console.plain, why);
    fflush(console->console.stream);
}
