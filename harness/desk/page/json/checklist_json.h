/* The seven questions and their answers, for programs: a member "checklist" of
 * docs/diagnosis.md. */
#ifndef HARNESS_DESK_PAGE_JSON_CHECKLIST_JSON_H
#define HARNESS_DESK_PAGE_JSON_CHECKLIST_JSON_H

#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/text/json.h"

/* The answers of trace number `which`; -1: of the run. */
void checklist_json(struct json *json, cJSON *to, const struct diagnosis *diagnosis, int which);

#endif
