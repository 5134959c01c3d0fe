/* The scenarios as data, for programs that want to know what `run` can measure.
 *
 *   {"schema": 1, "scenarios": [{"name", "group", "title", "symptom", "cause", "fix", "settings",
 * "knob", "before", "after", "devices", "least_cores", "expectations": [...], "findings": [{"id",
 * "where"}], "findings_after": [{"id", "where"}]}], "kernels": [...]}
 *
 * "group" is core or further; "settings" are the knobs that both variants share; "devices" are
 * those that can show it; "least_cores" is the number of cores that the CPU device needs for it.
 * "expectations" have the members of those in result.json, without results: "metric", "unit",
 * "direction" (shrinks or grows), "at_least", "at_most", "before_above", "after_below", "where",
 * "exact", "is_cost"; a bound that is not set is null. "findings" are what diagnose finds before
 * the fix, "findings_after" what the fix may leave. "kernels" are the pairs of kernels
 * (lesson_json()). */
#pragma once

#include "harness/text/json.h"
#include "scenarios/scenario.h"

/* *text is malloc'd. OUT_OF_MEMORY. */
enum status scenarios_json(char **text);

/* The members of an expectation, above, into `object`. */
void expectation_json(struct json *json, cJSON *object, const struct expectation *expectation);
