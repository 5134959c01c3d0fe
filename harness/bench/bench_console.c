#include "harness/bench/bench_console.h"

#include "harness/base/quantity.h"
#include "harness/base/statistics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TIME_WIDTH = 12, ITERATIONS_WIDTH = 12, COUNTER_WIDTH = 10 };

/* One line: times in ns, or a ratio of them, and the counters' values, NaN where there is none. */
struct line {
    char name[128];
    double real_ns, cpu_ns;
    bool is_ratio;
    int64_t iterations;
    double counters[BENCH_COUNTERS];
};

static unsigned counters_of(const struct bench_result *result)
{
    unsigned known = 0;

    for (unsigned i = 0; i < BENCH_COUNTERS; i++)
        known |= (unsigned)bench_counter_is_known(&bench_counters[i], result) << i;
    return known;
}

static void repeat_character(FILE *stream, char character, int count)
{
    for (int i = 0; i < count; i++) fputc(character, stream);
    fputc('\n', stream);
}

static int counter_width(const struct bench_counter *counter)
{
    int width = (int)strlen(counter->name);

    return width > COUNTER_WIDTH ? width : COUNTER_WIDTH;
}

/* Once, and again where other counters have columns of their own. */
static void print_heading(struct bench_console *console, unsigned counters)
{
    FILE *stream = console->console.stream;
    unsigned heading = 1u << BENCH_COUNTERS | (console->tabular ? counters : 0);
    int width = console->name_width + 2 * (TIME_WIDTH + 1) + ITERATIONS_WIDTH + 1;

    if (console->heading == heading)
        return;
    console->heading = heading;
    for (int i = 0; i < BENCH_COUNTERS; i++)
        width += console->tabular && counters >> i & 1 ? 1 + counter_width(&bench_counters[i]) : 0;
    width += console->tabular ? 0 : (int)strlen(" UserCounters...");
    repeat_character(stream, '-', width);
    fprintf(stream, "%-*s %*s %*s %*s", console->name_width, "Benchmark", TIME_WIDTH, "Time",
            TIME_WIDTH, "CPU", ITERATIONS_WIDTH, "Iterations");
    for (int i = 0; console->tabular && i < BENCH_COUNTERS; i++)
        if (counters >> i & 1)
            fprintf(stream, " %*s", counter_width(&bench_counters[i]), bench_counters[i].name);
    fprintf(stream, "%s\n", console->tabular ? "" : " UserCounters...");
    repeat_character(stream, '-', width);
}

static void print_time(const struct bench_console *console, double ns, bool is_ratio)
{
    char text[QUANTITY_SIZE];

    if (is_ratio) {
        snprintf(text, sizeof text, "%.2f %%", 100 * ns);
    } else if (console->unit == NULL) {
        quantity_print(text, ns * 1e-3, "us");
    } else {
        double value = ns / console->unit->ns;
        int digits = value < 1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0;
        snprintf(text, sizeof text, "%.*f %s", digits, value, console->unit->name);
    }
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
static void print_line(struct bench_console *console, const struct line *line, unsigned counters)
{
    FILE *stream = console->console.stream;

    print_heading(console, counters);
    fprintf(stream, "%-*s", console->name_width, line->name);
    print_time(console, line->real_ns, line->is_ratio);
    print_time(console, line->cpu_ns, line->is_ratio);
    fprintf(stream, " %*lld", ITERATIONS_WIDTH, (long long)line->iterations);
    for (int i = 0; i < BENCH_COUNTERS; i++) {
        char text[32];
        if (!(counters >> i & 1))
            continue;
        counter_text(text, sizeof text, line->counters[i], bench_counters[i].is_share,
                     line->is_ratio);
        if (console->tabular)
            fprintf(stream, " %*s", counter_width(&bench_counters[i]), text);
        else
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
                                     const struct bench_aggregate *aggregate)
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
    enum { MEDIAN = 1 };
    struct line line = line_of_aggregate(result, &bench_aggregates[MEDIAN]);

    snprintf(line.name, sizeof line.name, "%s", result->name);
    line.iterations = result->iterations;
    print_line(console, &line, counters_of(result));
    if (!console->tabular && stats_interval_is_enough(&interval))
        fprintf(console->console.stream, " noise=%.1f%%",
                50 * (interval.high - interval.low) / line.real_ns);
    fputc('\n', console->console.stream);
}

void bench_console_row(struct bench_console *console, const struct bench_result *result)
{
    unsigned counters = counters_of(result);
    bool has_aggregates = result->count > 1;

    if (console->lines == LINES_MEDIAN && has_aggregates) {
        print_median(console, result);
        has_aggregates = false;
    } else if (console->lines != LINES_AGGREGATES || !has_aggregates) {
        for (int i = 0; i < result->count; i++) {
            struct line line = line_of_repetition(result, i);
            print_line(console, &line, counters);
            fputc('\n', console->console.stream);
        }
    }
    for (int i = 0; has_aggregates && i < BENCH_AGGREGATES; i++) {
        struct line line = line_of_aggregate(result, &bench_aggregates[i]);
        print_line(console, &line, counters);
        fputc('\n', console->console.stream);
    }
    fflush(console->console.stream);
}

void bench_console_failure(struct bench_console *console, const char *name, const char *why)
{
    print_heading(console, console->heading);
    fprintf(console->console.stream, "%-*s %sERROR OCCURRED:%s '%s'\n", console->name_width, name,
            console->console.bad, console->console.plain, why);
    fflush(console->console.stream);
}

void bench_console_skip(struct bench_console *console, const char *name, const char *why)
{
    print_heading(console, console->heading);
    fprintf(console->console.stream, "%-*s %sSKIPPED:%s '%s'\n", console->name_width, name,
            console->console.doubtful, console->console.plain, why);
    fflush(console->console.stream);
}
