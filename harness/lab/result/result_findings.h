/* The findings in the traces of a scenario, beside the measured effect. */
#pragma once

#include "harness/lab/experiment/result.h"
#include "harness/text/json.h"

/* Adds {"before": [finding...], "after": [finding...], "accepted_first", "tolerated_after",
 * "predicted_gain", "measured_gain"} as `findings`, the findings as diagnosis_json.h has them; null
 * where nothing was traced.
 *
 * A variant that was not diagnosed is null, and "reason" says why. The four last are null then, and
 * "accepted_first" also where the scenario names no finding for its device. "predicted_gain" is
 * that of the foremost accepted finding before, null without one; "measured_gain" is the step time
 * before / after.*/
void result_findings_add(struct json *json, cJSON *to, const struct scenario_result *result);

enum { FINDINGS_LINE = 400 };

/* "diagnosis before the fix: host_sync (predicted gain 1.49x, measured 1.55x); left after the fix:
 * data_loading (expected here)". False: nothing was traced. */
bool result_findings_line(char text[FINDINGS_LINE], const struct scenario_result *result);
