/* Members "next" and "what_if" of a trace: what two fixes gain, and the step without causes that
 * were chosen. */
#ifndef HARNESS_DESK_PAGE_JSON_WHAT_IF_JSON_H
#define HARNESS_DESK_PAGE_JSON_WHAT_IF_JSON_H

#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/text/json.h"

void what_if_json(struct json *json, cJSON *trace, const struct diagnosis *diagnosis, int which);

#endif
