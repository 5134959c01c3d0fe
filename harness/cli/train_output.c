#include "harness/cli/train_output.h"

#include "harness/base/quantity.h"
#include "harness/base/statistics.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void train_print_settings(const struct page *page, const struct device_properties *device,
                          const char *settings)
{
    page_title(page, device->name);
    page_paragraph(page, INK_PLAIN, "%s, %s", device->isa, device->gemm_library);
    page_paragraph(page, INK_DIM, "%s", settings);
}

static const struct column loss_columns[] = {
    { "step", 8 },
    { "loss", 10 },
    { "samples/s", 14 },
    { "step time", 12 },
};

void train_print_loss_heading(const struct page *page)
{
    fputc('\n', page->console.stream);
    page_table(page, loss_columns, ARRAY_SIZE(loss_columns));
}

void train_print_loss(void *context, int64_t step, double samples_per_second, double step_time,
                      double loss)
{
    const struct page *page = context;
    char at[QUANTITY_SIZE], value[QUANTITY_SIZE], speed[QUANTITY_SIZE], time[QUANTITY_SIZE];
    const char *const cells[] = { at, value, speed, time };

    snprintf(at, sizeof at, "%lld", (long long)step);
    snprintf(value, sizeof value, "%.4f", loss);
    snprintf(speed, sizeof speed, "%.0f", samples_per_second);
    quantity_print(time, step_time, "us");
    page_row(page, loss_columns, ARRAY_SIZE(loss_columns), cells);
    fflush(page->console.stream);
}

static const char *text_of(char text[QUANTITY_SIZE], const struct measurement *measurement,
                           enum metric metric)
{
    quantity_print(text, measurement->metric[metric], metric_unit(metric));
    return text;
}

/* A line of the summary, with its name in bold. */
static void print_figures(const struct page *page, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void print_figures(const struct page *page, const char *name, const char *format, ...)
{
    static const struct column columns[] = { { "", -10 }, { "", PAGE_WRAP } };
    static const enum ink inks[] = { INK_BOLD, INK_PLAIN };
    char text[256];
    const char *const cells[] = { name, text };
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    page_row_inked(page, columns, ARRAY_SIZE(columns), cells, inks);
}

void train_print_summary(const struct page *page, const struct measurement *measurement)
{
    const double *metric = measurement->metric;
    char one[QUANTITY_SIZE], two[QUANTITY_SIZE], three[QUANTITY_SIZE], four[QUANTITY_SIZE];

    fputc('\n', page->console.stream);
    print_figures(page, "speed", "%.1f steps/s, %.0f samples/s, over %lld steps in %.2f s",
                  measurement_steps_per_second(measurement), metric[METRIC_SAMPLES_PER_SECOND],
                  (long long)measurement->steps, measurement->seconds);
    quantity_print(one, measurement->step_p50, "us");
    print_figures(page, "step time", "%s mean, p50 %s, p95 %s, variation %.0f%%",
                  text_of(two, measurement, METRIC_STEP_TIME), one,
                  text_of(three, measurement, METRIC_STEP_TIME_P95),
                  metric[METRIC_STEP_VARIATION] * 100);
    print_figures(page, "data wait", "%s per step, %.0f%% of it",
                  text_of(one, measurement, METRIC_DATA_WAIT),
                  metric[METRIC_DATA_WAIT_SHARE] * 100);
    print_figures(page, "per step", "%s launches, %s syncs, %s copies, %s device allocations",
                  text_of(one, measurement, METRIC_LAUNCHES_PER_STEP),
                  text_of(two, measurement, METRIC_SYNCS_PER_STEP),
                  text_of(three, measurement, METRIC_COPIES_PER_STEP),
                  text_of(four, measurement, METRIC_ALLOCATIONS_PER_STEP));
    print_figures(page, "memory", "%s at the peak, %s of activations",
                  text_of(one, measurement, METRIC_MEMORY_PEAK),
                  text_of(two, measurement, METRIC_ACTIVATION_PEAK));
    print_figures(page, "accuracy", "%.1f%% of held-out samples, after %lld steps",
                  measurement->accuracy * 100, (long long)measurement->steps_trained);
    if (measurement->damaged_samples > 0)
        print_figures(page, "damaged", "%lld samples could not be decoded and were replaced",
                      (long long)measurement->damaged_samples);
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

/* The metrics of a sweep. There is no loss: timed runs train for different numbers of steps. */
static const struct sweep_column {
    struct column column;
    enum metric metric;
} sweep_columns[] = {
    { { "samples/s", 9 }, METRIC_SAMPLES_PER_SECOND },
    { { "step", 8 }, METRIC_STEP_TIME },
    { { "p95", 8 }, METRIC_STEP_TIME_P95 },
    { { "data wait", 9 }, METRIC_DATA_WAIT },
    { { "launches", 8 }, METRIC_LAUNCHES_PER_STEP },
    { { "syncs", 6 }, METRIC_SYNCS_PER_STEP },
    { { "memory", 8 }, METRIC_MEMORY_PEAK },
};
enum { SWEEP_METRICS = 7, SWEEP_COLUMNS = 1 + SWEEP_METRICS + 1 };

static void print_sweep_row(const struct page *page, const struct column *columns,
                            const struct sweep_row *row)
{
    const struct column refused[] = { columns[0], { "", PAGE_WRAP } };
    char texts[SWEEP_METRICS][QUANTITY_SIZE], spread[QUANTITY_SIZE];
    const char *cells[SWEEP_COLUMNS] = { row->value, row->refusal };

    if (row->refusal[0] != '\0') {
        page_row(page, refused, ARRAY_SIZE(refused), cells);
        return;
    }
    for (int i = 0; i < SWEEP_METRICS; i++) {
        enum metric metric = sweep_columns[i].metric;
        quantity_print(texts[i], median_of(row, metric),
                       metric == METRIC_SAMPLES_PER_SECOND ? "" : metric_unit(metric));
        cells[1 + i] = texts[i];
    }
    snprintf(spread, sizeof spread, "%.0f%%", spread_percent(row));
    cells[SWEEP_COLUMNS - 1] = spread;
    page_row(page, columns, SWEEP_COLUMNS, cells);
}

/* The last column is half the range of the step time over the rounds. */
void train_print_sweep(const struct page *page, const char *knob, const struct sweep_row *rows,
                       int count)
{
    struct column columns[SWEEP_COLUMNS] = { { knob, 0 }, [SWEEP_COLUMNS - 1] = { "step +-", 7 } };

    page_column_fit(&columns[0], knob);
    for (int i = 0; i < count; i++) page_column_fit(&columns[0], rows[i].value);
    for (int i = 0; i < SWEEP_METRICS; i++) columns[1 + i] = sweep_columns[i].column;
    page_table(page, columns, SWEEP_COLUMNS);
    for (int i = 0; i < count; i++) print_sweep_row(page, columns, &rows[i]);
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
