/* Memory over time, for programs: the member "memory" of docs/diagnosis.md, MEMORY_JSON_POINTS at
 * most for each curve, chosen as memory_samples.h says. */
#ifndef HARNESS_DESK_PAGE_JSON_MEMORY_JSON_H
#define HARNESS_DESK_PAGE_JSON_MEMORY_JSON_H

#include "harness/desk/analysis/summary.h"
#include "harness/text/json.h"

enum { MEMORY_JSON_POINTS = 400 };

/* Runs within arena_run(). */
void memory_json(struct json *json, cJSON *to, struct arena *arena, const struct summary *summary);

#endif
