/* One scenario in the member `chokepoint` of a result file: verdict, effects, settings, raw
 * samples. */
#pragma once

#include "harness/lab/experiment/result.h"
#include "harness/text/json.h"

/* Adds an object to `array`. A factor that is infinite (something went to none) or not known is
 * null; so is an interval that has such an end. In an A/A comparison the members `before` and
 * `after` are its two sides, both with the settings before. Single steps are whole nanoseconds. */
void result_scenario_add(struct json *json, cJSON *array, const struct scenario_result *result);
