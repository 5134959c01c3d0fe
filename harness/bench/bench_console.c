/* Rows of bench as a table for people. Columns have Google Benchmark's widths. On a narrow terminal
 * columns are left out, the least needed first, and counters wrap below their row. */
#include "harness/bench/bench_console.h"

#include "harness/base/figures/quantity.h"
#include "harness/base/figures/statistics.h"
#include "harness/base/words/text.h"
#include "harness/text/wrap.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TIME_WIDTH = 12, ITERATIONS_WIDTH = 12, BELOW = 4 };

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

enum { ITERATIONS, CPU_TIME, TIME };

/* If the room is short, the iterations are left out first, then the processor time. */
static bool has_column(const struct bench_console *console, int column)
{
    static const int widths[] = {
        [ITERATIONS] = 2 * (TIME_WIDTH + 1) + ITERATIONS_WIDTH + 1,
        [CPU_TIME] = 2 * (TIME_WIDTH + 1),
        [TIME] = 0,
    };

    return console->name_width + widths[column] <= console->console.room;
}

static int columns_width(const struct bench_console *console)
{
    int width = console->name_width + TIME_WIDTH + 1;

    width += has_column(console, CPU_TIME) ? TIME_WIDTH + 1 : 0;
    return width + (has_column(console, ITERATIONS) ? ITERATIONS_WIDTH + 1 : 0);
}

static int counter_width(int counter)
{
    int width = (int)strlen(bench_counters[counter].name);

    return width > 10 ? width : 10;
}

/* A column for each counter that the line has; none where they do not fit. */
static unsigned columns_of(const struct bench_console *console, const struct line *line)
{
    int width = columns_width(console);
    unsigned counted = 0;

    for (int i = 0; console->tabular && line != NULL && i < BENCH_COUNTERS; i++)
        if (isfinite(line->counters[i])) {
            counted |= 1U << i;
            width += counter_width(i) + 1;
        }
    return width <= console->console.room ? counted : 0;
}

/* Once, and anew in a table for a line that has other counters. */
static void print_heading(struct bench_console *console, const struct line *line)
{
    char counters[256] = " UserCounters...";
    FILE *stream = console->console.stream;
    int width = columns_width(console);
    unsigned counted = columns_of(console, line);
    bool has_counters;

    if (console->headed && (line == NULL || counted == console->counted))
        return;
    console->headed = true;
    console->counted = counted;
    if (counted != 0)
        counters[0] = '\0';
    for (int i = 0; i < BENCH_COUNTERS; i++)
        if (counted & 1U << i)
            text_append(counters, sizeof counters, " %*s", counter_width(i),
                        bench_counters[i].name);
    has_counters = width + (int)strlen(counters) <= console->console.room;
    width += has_counters ? (int)strlen(counters) : 0;
    repeat_character(stream, '-', width);
    fprintf(stream, "%-*s %*s", console->name_width, "Benchmark", TIME_WIDTH, "Time");
    if (has_column(console, CPU_TIME))
        fprintf(stream, " %*s", TIME_WIDTH, "CPU");
    if (has_column(console, ITERATIONS))
        fprintf(stream, " %*s", ITERATIONS_WIDTH, "Iterations");
    fprintf(stream, "%s\n", has_counters ? counters : "");
    repeat_character(stream, '-', width);
}

static void print_time(const struct bench_console *console, double ns, bool is_ratio)
{
    char text[QUANTITY_SIZE];

    if (is_ratio)
        snprintf(text, sizeof text, "%.2f %%", 100 * ns);
    else if (console->unit != NULL)
        snprintf(text, sizeof text, "%.*f %s", ns < 10 * console->unit->ns ? 3 : 0,
                 ns / console->unit->ns, console->unit->name);
    else
        quantity_print(text, ns * 1e-3, "us");
    fprintf(console->console.stream, " %*s", TIME_WIDTH, text);
}

/* "40.9GB/s", "93.1%"; a share has no unit. */
static void counter_text(char *text, size_t size, double value, const char *unit, bool is_ratio)
{
    static const char *const prefixes[] = { "", "k", "M", "G", "T", "P" };
    size_t prefix = 0;

    if (unit == NULL || is_ratio) {
        snprintf(text, size, "%.3g%%", 100 * value);
        return;
    }
    /* Three digits are printed, so what would round up to 1000 has the next prefix. */
    for (; value >= 999.5 && prefix + 1 < ARRAY_SIZE(prefixes); prefix++) value /= 1000;
    snprintf(text, size, "%.3g%s%s", value, prefixes[prefix], unit);
}

/* The counters on the same line, or wrapped on lines below where the terminal has no room. `noise`
 * in percent; NaN: none. */
static void print_line(struct bench_console *console, const struct line *line, double noise)
{
    FILE *stream = console->console.stream;
    char counters[512] = "", text[32];
    int room = console->console.room;

    print_heading(console, line);
    fprintf(stream, "%-*s", console->name_width, line->name);
    print_time(console, line->real_ns, line->is_ratio);
    if (has_column(console, CPU_TIME))
        print_time(console, line->cpu_ns, line->is_ratio);
    if (has_column(console, ITERATIONS))
        fprintf(stream, " %*lld", ITERATIONS_WIDTH, (long long)line->iterations);
    for (int i = 0; i < BENCH_COUNTERS; i++) {
        if (!isfinite(line->counters[i]))
            continue;
        counter_text(text, sizeof text, line->counters[i], bench_counters[i].unit, line->is_ratio);
        if (console->counted != 0)
            fprintf(stream, " %*s", counter_width(i), text);
        else
            text_join(counters, sizeof counters, " ", "%s=%s", bench_counters[i].name, text);
    }
    if (isfinite(noise))
        text_join(counters, sizeof counters, " ", "noise=%.1f%%", noise);
    if (columns_width(console) + 1 + wrap_columns(counters) <= room) {
        fprintf(stream, "%s%s\n", counters[0] != '\0' ? " " : "", counters);
    } else {
        fprintf(stream, "\n%*s", BELOW, "");
        wrap_print(stream, BELOW, BELOW, room, counters);
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

/* Counters are aggregated over the repetitions as the times are. */
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

/* The row of a benchmark whose repetitions are not listed. The noise is half the interval of the
 * median, in percent of it. */
static void print_median(struct bench_console *console, const struct bench_result *result)
{
    struct confidence_interval interval = stats_median_interval(result->real_ns, result->count);
    struct line line = line_of_aggregate(result, &benchmark_aggregates[BENCHMARK_MEDIAN]);

    snprintf(line.name, sizeof line.name, "%s", result->name);
    line.iterations = result->iterations;
    print_line(console, &line,
               stats_interval_is_enough(&interval)
                   ? 50 * (interval.high - interval.low) / line.real_ns
                   : NAN);
}

void bench_console_row(struct bench_console *console, const struct bench_result *result)
{
    bool all = console->all_repetitions || console->aggregates_only || result->count < 2;
    struct line line;

    if (!all)
        print_median(console, result);
    for (int i = 0; all && i < result->count && !(console->aggregates_only && result->count > 1);
         i++) {
        line = line_of_repetition(result, i);
        print_line(console, &line, NAN);
    }
    for (int i = 0; all && result->count > 1 && i < BENCHMARK_AGGREGATES; i++) {
        line = line_of_aggregate(result, &benchmark_aggregates[i]);
        print_line(console, &line, NAN);
    }
    fflush(console->console.stream);
}

/* "name ERROR OCCURRED: 'why'", which goes on below where the terminal has no room. */
static void print_outcome(struct bench_console *console, const char *name, const char *ink,
                          const char *word, const char *why)
{
    FILE *stream = console->console.stream;
    char sentence[1024];

    print_heading(console, NULL);
    fprintf(stream, "%-*s %s%s:%s ", console->name_width, name, ink, word, console->console.plain);
    snprintf(sentence, sizeof sentence, "'%s'", why);
    wrap_print(stream, console->name_width + 1 + wrap_columns(word) + 2, BELOW,
               console->console.room, sentence);
    fflush(stream);
}

void bench_console_failure(struct bench_console *console, const char *name, const char *why)
{
    print_outcome(console, name, console->console.bad, "ERROR OCCURRED", why);
}

void bench_console_skip(struct bench_console *console, const char *name, const char *why)
{
    print_outcome(console, name, console->console.doubtful, "SKIPPED", why);
}
