/* The output of `train`: its measurements, for people and as JSON. */
#ifndef HARNESS_CLI_TRAIN_TRAIN_OUTPUT_H
#define HARNESS_CLI_TRAIN_TRAIN_OUTPUT_H

#include "harness/lab/result/utilisation.h"
#include "harness/lab/search/measure.h"
#include "harness/text/json.h"
#include "harness/text/page.h"

/* A shorter training has no share of the peak: measuring the peak would take longer than it did. */
#define TRAIN_UTILISATION_SECONDS 0.3

/* The device and all settings. */
void train_print_settings(const struct page *page, const struct device_properties *device,
                          const char *settings);

/* The images that were found in the user's folder. */
void train_print_images(const struct page *page, const char *folder, const struct dataset *images);

/* The table of losses: a measure_warmed_up, which prints its heading, and a measure_report; the
 * context of both is the page. */
void train_print_warmup(void *context, int64_t first, int64_t last);
void train_print_loss(void *context, int64_t step, double samples_per_second, double step_time,
                      double loss);

/* The figures at the end; nothing is said of shares that are not known. */
void train_print_summary(const struct page *page, const struct measurement *measurement,
                         const struct utilisation *utilisation);

/* Members of an object: every figure as a flat number. */
void train_json(struct json *json, cJSON *object, const struct measurement *measurement);

/* Member "units": those of its figures that have one. */
void train_units_json(struct json *json, cJSON *object);

/* Prints a document to standard output and frees it, also where that fails. OUT_OF_MEMORY. */
enum status train_print_json(struct json *json, cJSON *root);

#endif
