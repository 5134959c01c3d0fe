/* Why a step takes longer, for people and for programs. */
#pragma once

#include "harness/desk/compare/traces/trace_change.h"
#include "harness/text/json.h"
#include "harness/text/page.h"

void trace_change_page(const struct page *page, const struct trace_change *change);

/* An empty document of changes, and its array. */
cJSON *trace_changes_json(struct json *json, cJSON **array);

/* Adds the change to that array. docs/compare.md describes the members. */
void trace_change_json(struct json *json, cJSON *array, const struct trace_change *change);
