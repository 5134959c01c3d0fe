/* Rows of Google Benchmark's `benchmarks`. */
#pragma once

#include "harness/lab/experiment/result.h"
#include "harness/text/json.h"

/* Whether a scenario has rows: it was measured and no window took no time. */
bool result_has_rows(const struct scenario_result *result);

/* Adds a row per repetition of "name/before" and their aggregates, then those of "name/after"; in
 * an A/A comparison "name/aa:1" and "name/aa:2", since neither side is after. A family is a
 * scenario: `family` counts them from 0. The counters are the metrics by name. Nothing is written
 * for a metric that was not measured. The label of a repetition says what its device was throttled
 * by, if it was. */
void result_rows_add(struct json *json, cJSON *benchmarks, const struct scenario_result *result,
                     int family, bool aggregates_only);

/* The counters of such rows are the metrics, in their order, but for the step time, which is the
 * real time. */
enum { METRIC_COUNTERS = METRIC_COUNT - METRIC_FIRST - 1 };
enum metric metric_of_counter(int counter);
const char *metric_counter_name(int counter);
