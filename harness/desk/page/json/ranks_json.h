/* The ranks of a run for programs, as member "run" of a diagnosis, which is null where the traces
 * are no run. docs/diagnosis.md has its members. */
#ifndef HARNESS_DESK_PAGE_JSON_RANKS_JSON_H
#define HARNESS_DESK_PAGE_JSON_RANKS_JSON_H

#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/text/json.h"

void ranks_json(struct json *json, cJSON *to, const struct diagnosis *diagnosis);

#endif
