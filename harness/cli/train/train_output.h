/* The output of `train`: its measurements, for people and as JSON. */
#pragma once

#include "harness/cli/job/job_flags.h"
#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/lab/result/utilisation.h"
#include "harness/lab/search/measure.h"
#include "harness/lab/search/sweep.h"
#include "harness/text/json.h"
#include "harness/text/page.h"

/* A shorter training has no share of the peak: measuring the peak would take longer than it did. */
#define TRAIN_UTILISATION_SECONDS 0.3

/* One training: what it was asked for, and what came of it. */
struct train_report {
    const char *trace;                    /* a file; NULL: none is asked for */
    struct training_config given;         /* before knobs_resolve() */
    const struct training_config *config; /* after it */
    char settings[KNOBS_TEXT];            /* the same in words */
    struct device_properties device;
    struct measurement measurement;
    struct utilisation utilisation;
    bool is_traced;
    struct diagnosis diagnosis;      /* of the trace, if there is one */
    struct status_error trace_error; /* why there is none */
};

/* As a page, from the top: the device, all settings, and the images, if they are the user's. */
void train_print_start(const struct page *page, const struct train_report *report,
                       const struct dataset *images);

/* The table of losses: a measure_warmed_up, which prints its heading, and a measure_report; the
 * context of both is the page. */
void train_print_warmup(void *context, int64_t first, int64_t last);
void train_print_loss(void *context, int64_t step, double samples_per_second, double step_time,
                      double loss);

/* The figures, and where the state is saved; nothing is said of shares that are not known. Then
 * what is in the trace, if it is recorded by now. */
void train_print_figures(const struct page *page, const struct train_report *report);
void train_print_trace(const struct page *page, const struct train_report *report);

/* All of it as a document to standard output. OUT_OF_MEMORY. */
enum status train_report_json(const struct train_report *report);

/* Members of an object: every figure of a measurement as a flat number. */
void train_json(struct json *json, cJSON *object, const struct measurement *measurement);

/* Prints the outcome of a sweep, for people and as JSON. */

/* A row per value, or a table with a row for each value of the first knob and a column for each of
 * the second; then what is enough. */
enum status sweep_print(const struct page *page, const struct knob_sweep *sweep);

/* Says so if others used the cores while something was measured. */
void sweep_print_loss(const struct page *page, const struct cpu_loss *loss);

/* The same as JSON on standard output, with rows for Google Benchmark's tools. */
enum status sweep_print_json(const struct knob_sweep *sweep, struct device *device);

/* `train --ladder`: profile, find, fix and profile again, and what came of it. */

/* From `config`, which is not resolved, or from all that is wrong where it sets nothing that a fix
 * changes. `thorough`: then what the trace does not show. No device is open. Prints each rung once
 * it is measured, then how the ladder ended and the settings as a command; as JSON all at once.
 * After an error or an interrupt what was measured before it is printed. */
enum status train_ladder(const struct flags *flags, const struct training_config *config,
                         double budget_seconds, bool thorough);
