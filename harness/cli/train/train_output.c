/* The page is printed while the training runs, part by part; the document once all is known. There,
 * what was not measured is null.
 *
 * All figures are in the report (train_output.h), which train.c fills. */
#include "harness/cli/train/train_output.h"

#include "harness/base/figures/quantity.h"
#include "harness/cli/job/written_trace.h"
#include "harness/desk/page/diagnosis_page.h"
#include "harness/desk/page/json/diagnosis_json.h"
#include "harness/engine/settings/knobs.h"
#include "harness/engine/step/state.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- As a page --- */

void train_print_start(const struct page *page, const struct train_report *report,
                       const struct dataset *images)
{
    const struct device_properties *device = &report->device;
    const char *folder = report->config->data.folder;
    uint32_t held_out = dataset_count(images, SPLIT_HELD_OUT);
    char why[KNOB_WHY];

    page_title(page, device->name);
    page_paragraph(page, INK_PLAIN, "%s, %s", device->isa, device->gemm_library);
    /* All settings, as they were resolved; then those that were given and change nothing beside the
     * others. */
    page_paragraph(page, INK_DIM, "%s", report->settings);
    for (int at = 0; knobs_next_idle(&report->given, report->config, &at, why);)
        page_paragraph(page, INK_DOUBTFUL, "%s.", why);
    if (folder[0] != '\0')
        page_paragraph(page, INK_PLAIN, "%u images in %d classes in %s; %u of them are held out",
                       dataset_count(images, SPLIT_TRAIN) + held_out, dataset_classes(images),
                       folder, held_out);
    fputc('\n', page->console.stream);
    fflush(page->console.stream);
}

enum { SCHEMA = 1 };

static const struct column loss_columns[] = {
    { "step", 8, 0 },
    { "loss", 10, 0 },
    { "samples/s", 14, 0 },
    { "step time", 12, 0 },
};

void train_print_warmup(void *context, int64_t first, int64_t last)
{
    const struct page *page = context;

    page_paragraph(page, INK_DIM, "Steps %lld to %lld warmed up and are not timed.",
                   (long long)first, (long long)last);
    page_table(page, loss_columns, ARRAY_SIZE(loss_columns));
    fflush(page->console.stream);
}

void train_print_loss(void *context, int64_t step, double samples_per_second, double step_time,
                      double loss)
{
    const struct page *page = context;

    PAGE_LINE(page, loss_columns, quantity_count(step).text, cell("%.4f", loss).text,
              cell("%.0f", samples_per_second).text, quantity_of(step_time, "us").text);
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
    static const struct column columns[] = { { "", -10, 0 }, { "", PAGE_WRAP, 0 } };
    static const enum ink inks[] = { INK_BOLD, INK_PLAIN };
    char text[256];
    const char *const cells[] = { name, text };
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    page_row_inked(page, columns, ARRAY_SIZE(columns), cells, inks);
}

static void print_utilisation(const struct page *page, const struct measurement *measurement,
                              const struct utilisation *utilisation)
{
    const struct ceilings *ceilings = &utilisation->ceilings;
    char rate[QUANTITY_SIZE], ceiling[QUANTITY_SIZE], doubt[UTILISATION_DOUBT];

    if (!(ceilings->flops_per_second > 0) && measurement->seconds < TRAIN_UTILISATION_SECONDS)
        print_figures(page, "MFU", "not stated: only %s were timed; from %s on it is",
                      quantity_time(measurement->seconds * 1e9).text,
                      quantity_time(TRAIN_UTILISATION_SECONDS * 1e9).text);
    if (utilisation_doubt(doubt, utilisation))
        print_figures(page, "MFU", "doubtful: %s", doubt);
    if (isfinite(utilisation->mfu)) {
        quantity_print(ceiling, ceilings->flops_per_second, "FLOP/s");
        print_figures(page, "MFU", "%.0f%%: %s, where a large matrix product reaches %s",
                      100 * utilisation->mfu,
                      text_of(rate, measurement, METRIC_MODEL_FLOPS_PER_SECOND), ceiling);
    }
    if (isfinite(utilisation->bandwidth_share)) {
        quantity_print(ceiling, ceilings->bytes_per_second, "B/s");
        print_figures(page, "bandwidth", "%.0f%%: %s in forward and backward; a copy reaches %s%s",
                      100 * utilisation->bandwidth_share,
                      text_of(rate, measurement, METRIC_OP_BYTES_PER_SECOND), ceiling,
                      utilisation->bandwidth_share > 1 ? ", as it misses the caches" : "");
    }
}

static void print_summary(const struct page *page, const struct measurement *measurement,
                          const struct utilisation *utilisation)
{
    const double *metric = measurement->metric;
    char one[QUANTITY_SIZE], two[QUANTITY_SIZE], three[QUANTITY_SIZE], four[QUANTITY_SIZE];

    fputc('\n', page->console.stream);
    print_figures(page, "speed", "%.1f steps/s, %.0f samples/s, over %lld steps in %s",
                  measurement_steps_per_second(measurement), metric[METRIC_SAMPLES_PER_SECOND],
                  (long long)measurement->steps, quantity_time(measurement->seconds * 1e9).text);
    quantity_print(one, measurement->step_p50, "us");
    /* A single step has no spread. */
    if (isfinite(metric[METRIC_STEP_VARIATION]))
        print_figures(page, "step time", "%s mean, p50 %s, p95 %s, variation %.0f%%",
                      text_of(two, measurement, METRIC_STEP_TIME), one,
                      text_of(three, measurement, METRIC_STEP_TIME_P95),
                      metric[METRIC_STEP_VARIATION] * 100);
    else
        print_figures(page, "step time", "%s mean", text_of(two, measurement, METRIC_STEP_TIME));
    print_figures(page, "phases", "%s forward, %s backward, %s optimizer on the device",
                  text_of(one, measurement, METRIC_FORWARD_TIME),
                  text_of(two, measurement, METRIC_BACKWARD_TIME),
                  text_of(three, measurement, METRIC_OPTIMIZER_TIME));
    print_utilisation(page, measurement, utilisation);
    if (measurement->energy_per_sample > 0) {
        quantity_print(one, measurement->energy_per_sample, "J");
        print_figures(page, "energy", "%s per sample, %.0f W on average", one,
                      measurement->energy_per_sample * metric[METRIC_SAMPLES_PER_SECOND]);
    }
    print_figures(page, "data wait", "%s per step, %.0f%% of the step time",
                  text_of(one, measurement, METRIC_DATA_WAIT),
                  metric[METRIC_DATA_WAIT_SHARE] * 100);
    print_figures(page, "per step", "%s launches, %s syncs, %s copies, %s device allocations",
                  text_of(one, measurement, METRIC_LAUNCHES_PER_STEP),
                  text_of(two, measurement, METRIC_SYNCS_PER_STEP),
                  text_of(three, measurement, METRIC_COPIES_PER_STEP),
                  text_of(four, measurement, METRIC_ALLOCATIONS_PER_STEP));
    if (metric[METRIC_SKIPPED_UPDATES] > 0)
        print_figures(page, "skipped", "%s updates per step, as a gradient overflowed",
                      text_of(one, measurement, METRIC_SKIPPED_UPDATES));
    print_figures(page, "memory", "%s at the peak, %s of activations; %s reserved",
                  text_of(one, measurement, METRIC_MEMORY_PEAK),
                  text_of(two, measurement, METRIC_ACTIVATION_PEAK),
                  text_of(three, measurement, METRIC_MEMORY_RESERVED));
    /* It is measured behind the last step, which an interrupted training does not come to. */
    if (!measurement->interrupted)
        print_figures(page, "accuracy", "%.1f%% of held-out samples, after %lld steps",
                      measurement->accuracy * 100, (long long)measurement->steps_trained);
    if (measurement->damaged_files > 0)
        print_figures(page, "damaged", "%u %s cannot be decoded%s %s; %lld samples were replaced",
                      measurement->damaged_files,
                      measurement->damaged_files == 1 ? "file" : "files",
                      measurement->damaged_files == 1 ? ":" : ", the first is",
                      measurement->first_damaged, (long long)measurement->damaged_samples);
}

/* Whether the state of the training is in the folder that the user named. */
static bool is_saved(const struct train_report *report)
{
    return report->config->saving.folder[0] != '\0' &&
           report->measurement.save_error.status == STATUS_OK;
}

void train_print_figures(const struct page *page, const struct train_report *report)
{
    const char *folder = report->config->saving.folder;

    print_summary(page, &report->measurement, &report->utilisation);
    if (is_saved(report)) {
        fputc('\n', page->console.stream);
        page_paragraph(page, INK_PLAIN,
                       "The state after %lld steps is in %s/" STATE_FILE
                       "; --resume=%s goes on from it.",
                       (long long)report->measurement.steps_trained, folder, folder);
    }
    fflush(page->console.stream);
}

void train_print_trace(const struct page *page, const struct train_report *report)
{
    if (!report->is_traced)
        return;
    fputc('\n', page->console.stream);
    written_trace_print(page->console.stream, report->trace);
    diagnosis_brief(page, &report->diagnosis);
}

/* --- As JSON --- */

void train_json(struct json *json, cJSON *object, const struct measurement *measurement)
{
    JSON_ADD(json, object, KEY("steps", measurement->steps), KEY("samples", measurement->samples),
             KEY("seconds", measurement->seconds),
             KEY("steps_per_second", measurement_steps_per_second(measurement)),
             KEY("step_time_p50", measurement->step_p50),
             KEY("energy_per_sample", measurement->energy_per_sample));
    for (int i = METRIC_FIRST; i < METRIC_COUNT; i++)
        json_number(json, object, metric_name((enum metric)i), measurement->metric[i]);
    JSON_ADD(
        json, object, KEY("loss", measurement->loss),
        KEY("held_out_accuracy", measurement->accuracy),
        KEY("damaged_samples", measurement->damaged_samples),
        KEY("damaged_files", measurement->damaged_files),
        KEY("first_damaged", measurement->damaged_files > 0 ? measurement->first_damaged : NULL),
        KEY("warmup_steps", measurement->warmup_steps),
        KEY("steps_trained", measurement->steps_trained));
}

/* A unit by the name of each figure; mere numbers have none. */
static void units_json(struct json *json, cJSON *units)
{
    JSON_ADD(json, units, KEY("seconds", "s"), KEY("steps_per_second", "/s"),
             KEY("energy_per_sample", "J"), KEY("step_time_p50", metric_unit(METRIC_STEP_TIME)));
    for (int i = METRIC_FIRST; i < METRIC_COUNT; i++)
        if (metric_unit((enum metric)i)[0] != '\0')
            json_text(json, units, metric_name((enum metric)i), metric_unit((enum metric)i));
}

enum status train_report_json(const struct train_report *report)
{
    const struct training_config *config = report->config;
    char saved[sizeof config->saving.folder + sizeof "/" STATE_FILE], why[KNOB_WHY];
    struct json json = { 0 };
    cJSON *root, *idle = json_array(&json, NULL, NULL);

    for (int at = 0; knobs_next_idle(&report->given, config, &at, why);)
        json_text(&json, idle, NULL, why);
    root = JSON_OBJECT(&json, KEY("schema", SCHEMA), KEY("version", CHOKEPOINT_VERSION),
                       KEY("device", report->device.name), KEY("settings", report->settings),
                       KEY("without_effect", idle),
                       KEY("interrupted", report->measurement.interrupted));
    units_json(&json, json_object(&json, root, "units"));
    train_json(&json, root, &report->measurement);
    snprintf(saved, sizeof saved, "%s/" STATE_FILE, config->saving.folder);
    JSON_ADD(&json, root, KEY("utilisation", utilisation_json(&json, &report->utilisation)),
             KEY("saved", is_saved(report) ? saved : NULL));
    if (report->is_traced)
        JSON_ADD(&json, root, KEY("trace", report->diagnosis.paths[0]),
                 KEY("findings", findings_json(&json, &report->diagnosis.findings[0])));
    return json_end(&json, root);
}
