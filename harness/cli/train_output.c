#include "harness/cli/train_output.h"

#include "harness/base/quantity.h"
#include "harness/base/statistics.h"
#include "harness/text/wrap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void train_print_settings(const struct console *console, const struct device_properties *device,
                          const char *settings)
{
    fprintf(console->stream, "%s%s%s, %s, %s\n%s", console->bold, device->name, console->plain,
            device->isa, device->gemm_library, console->dim);
    wrap_print(console->stream, 0, 0, console->width, settings);
    fprintf(console->stream, "%s\n", console->plain);
}

void train_print_loss_heading(const struct console *console)
{
    fprintf(console->stream, "%s%8s %10s %14s %12s%s\n", console->dim, "step", "loss", "samples/s",
            "step time", console->plain);
}

void train_print_loss(void *context, int64_t step, double samples_per_second, double step_time,
                      double loss)
{
    const struct console *console = context;
    char time[QUANTITY_SIZE];

    quantity_print(time, step_time, "us");
    fprintf(console->stream, "%8lld %10.4f %14.0f %12s\n", (long long)step, loss,
            samples_per_second, time);
    fflush(console->stream);
}

static const char *text_of(char text[QUANTITY_SIZE], const struct measurement *measurement,
                           enum metric metric)
{
    quantity_print(text, measurement->metric[metric], metric_unit(metric));
    return text;
}

/* The name of a line of the summary. */
static void print_word(const struct console *console, const char *word)
{
    fprintf(console->stream, "%s%-12s%s", console->bold, word, console->plain);
}

void train_print_summary(const struct console *console, const struct measurement *measurement)
{
    FILE *stream = console->stream;
    const double *metric = measurement->metric;
    char one[QUANTITY_SIZE], two[QUANTITY_SIZE], three[QUANTITY_SIZE], four[QUANTITY_SIZE];

    fputc('\n', stream);
    print_word(console, "speed");
    fprintf(stream, "%.1f steps/s, %.0f samples/s, over %lld steps in %.2f s\n",
            measurement_steps_per_second(measurement), metric[METRIC_SAMPLES_PER_SECOND],
            (long long)measurement->steps, measurement->seconds);
    print_word(console, "step time");
    quantity_print(one, measurement->step_p50, "us");
    fprintf(stream, "%s mean, p50 %s, p95 %s, variation %.0f%%\n",
            text_of(two, measurement, METRIC_STEP_TIME), one,
            text_of(three, measurement, METRIC_STEP_TIME_P95), metric[METRIC_STEP_VARIATION] * 100);
    print_word(console, "data");
    fprintf(stream, "%s waited a step, %.0f%% of it\n", text_of(one, measurement, METRIC_DATA_WAIT),
            metric[METRIC_DATA_WAIT_SHARE] * 100);
    print_word(console, "a step has");
    fprintf(stream, "%s launches, %s syncs, %s copies, %s device allocations\n",
            text_of(one, measurement, METRIC_LAUNCHES_PER_STEP),
            text_of(two, measurement, METRIC_SYNCS_PER_STEP),
            text_of(three, measurement, METRIC_COPIES_PER_STEP),
            text_of(four, measurement, METRIC_ALLOCATIONS_PER_STEP));
    print_word(console, "memory");
    fprintf(stream, "%s at the peak, %s of activations\n",
            text_of(one, measurement, METRIC_MEMORY_PEAK),
            text_of(two, measurement, METRIC_ACTIVATION_PEAK));
    print_word(console, "accuracy");
    fprintf(stream, "%.1f%% of held-out samples, after %lld steps\n", measurement->accuracy * 100,
            (long long)measurement->steps_trained);
    if (measurement->damaged_samples > 0) {
        print_word(console, "damaged");
        fprintf(stream, "%s%lld samples could not be decoded and were replaced%s\n",
                console->doubtful, (long long)measurement->damaged_samples, console->plain);
    }
}

/* Over the rounds of a row. */
static double median_of(const struct sweep_row *row, enum metric metric)
{
    double *values = malloc(sizeof *values * (size_t)row->count), median = NAN;

    if (values == NULL)
        return NAN;
    for (int i = 0; i < row->count; i++) values[i] = row->rounds[i].metric[metric];
    median = stats_median(values, row->count);
    free(values);
    return median;
}

/* Half the range of the step time over the rounds, as a share of its median. */
static double spread_percent(const struct sweep_row *row)
{
    double low = INFINITY, high = 0;

    for (int i = 0; i < row->count; i++) {
        low = fmin(low, row->rounds[i].metric[METRIC_STEP_TIME]);
        high = fmax(high, row->rounds[i].metric[METRIC_STEP_TIME]);
    }
    return (high - low) / 2 / median_of(row, METRIC_STEP_TIME) * 100;
}

/* Columns of a sweep. The loss is none: values that ran for a time trained for different steps. */
static const struct column {
    const char *heading;
    enum metric metric;
    int width;
} columns[] = {
    { "samples/s", METRIC_SAMPLES_PER_SECOND, 11 },
    { "step", METRIC_STEP_TIME, 10 },
    { "p95", METRIC_STEP_TIME_P95, 10 },
    { "data wait", METRIC_DATA_WAIT, 11 },
    { "launches", METRIC_LAUNCHES_PER_STEP, 10 },
    { "syncs", METRIC_SYNCS_PER_STEP, 7 },
    { "memory", METRIC_MEMORY_PEAK, 10 },
};

static void print_sweep_row(const struct console *console, int width, const struct sweep_row *row)
{
    fprintf(console->stream, "%-*s", width, row->value);
    if (row->refusal[0] != '\0') {
        fputs("  ", console->stream);
        wrap_print(console->stream, width + 2, width + 2, console->width, row->refusal);
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
        char text[QUANTITY_SIZE];
        quantity_print(
            text, median_of(row, columns[i].metric),
            columns[i].metric == METRIC_SAMPLES_PER_SECOND ? "" : metric_unit(columns[i].metric));
        fprintf(console->stream, "%*s", columns[i].width, text);
        if (columns[i].metric == METRIC_STEP_TIME)
            fprintf(console->stream, " %s%3.0f%%%s", console->dim, spread_percent(row),
                    console->plain);
    }
    fputc('\n', console->stream);
}

void train_print_sweep(const struct console *console, const char *knob,
                       const struct sweep_row *rows, int count)
{
    int width = (int)strlen(knob);

    for (int i = 0; i < count; i++)
        if ((int)strlen(rows[i].value) > width)
            width = (int)strlen(rows[i].value);
    fprintf(console->stream, "%s%-*s", console->dim, width, knob);
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
        fprintf(console->stream, "%*s%s", columns[i].width, columns[i].heading,
                columns[i].metric == METRIC_STEP_TIME ? "   +-" : "");
    fprintf(console->stream, "%s\n", console->plain);
    for (int i = 0; i < count; i++) print_sweep_row(console, width, &rows[i]);
}

void train_json(struct json *json, cJSON *object, const struct measurement *measurement)
{
    json_integer(json, object, "steps", measurement->steps);
    json_integer(json, object, "samples", measurement->samples);
    json_number(json, object, "seconds", measurement->seconds);
    json_number(json, object, "steps_per_second", measurement_steps_per_second(measurement));
    json_number(json, object, "step_time_p50", measurement->step_p50);
    for (int i = METRIC_FIRST; i < METRIC_COUNT; i++)
        json_number(json, object, metric_name((enum metric)i), measurement->metric[i]);
    json_number(json, object, "loss", measurement->loss);
    json_number(json, object, "held_out_accuracy", measurement->accuracy);
    json_integer(json, object, "damaged_samples", measurement->damaged_samples);
    json_integer(json, object, "steps_trained", measurement->steps_trained);
}
