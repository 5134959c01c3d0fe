/* The scenarios as data, for programs that want to know what `run` can measure: "schema" 1,
 * "scenarios" and "kernels". A scenario's members are
 *
 * - its words: "name", "group", "title", "symptom", "cause", "fix", "look", "cost" and "pytorch",
 *   the code before and after; "core" says whether `run core` measures it;
 *
 * - its settings: "settings", the knobs that both variants share, then "knob", "before", "after";
 *
 * - who can show it: "devices", and "least_cores", that the CPU device needs for it;
 *
 * - its promises: "expectations", with the members of those in result.json, without results:
 *   "metric", "unit", "direction" (shrinks or grows), "at_least", "at_most", "before_above",
 *   "after_below", "where", "exact", "is_cost"; a bound that is not set is null;
 *
 * - its findings, each with "id" and "where": "findings", which diagnose makes before the fix, and
 *   "findings_after", which the fix may leave.
 *
 * "kernels" are the pairs of kernels (lesson_json()). */
#pragma once

#include "harness/text/json.h"
#include "scenarios/scenario.h"

/* *text is malloc'd. OUT_OF_MEMORY. */
enum status scenarios_json(char **text);

/* The members of an expectation, above, into `object`. */
void expectation_json(struct json *json, cJSON *object, const struct expectation *expectation);
