/* The tables of a trace for programs: its members from "kernels" to "memory" (docs/diagnosis.md). A
 * curve of memory has MEMORY_JSON_POINTS at most, chosen as memory_curve.h says. */
#pragma once

#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/text/json.h"

enum { MEMORY_JSON_POINTS = 400 };

/* Runs within arena_run(). */
void tables_json(struct json *json, cJSON *to, struct arena *arena, const struct summary *summary,
                 const struct table_choice *choice);
