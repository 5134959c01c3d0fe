/* The order of events, for programs: the members "gaps" (LONGEST_GAPS at most, the longest first;
 * idle.h) and "timeline" (bars to draw; excerpt.h) of docs/diagnosis.md. */
#pragma once

#include "harness/desk/analysis/summary.h"
#include "harness/text/json.h"

/* Both run within arena_run(). */
void gaps_json(struct json *json, cJSON *to, struct arena *arena, const struct summary *summary);

/* `steps` steps are drawn, at least one. */
void timeline_json(struct json *json, cJSON *to, struct arena *arena, const struct summary *summary,
                   int steps);
