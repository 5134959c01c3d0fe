/* A diagnosis for programs. docs/diagnosis.md describes every member, and a test holds it complete.
 * Times are nanoseconds; an unknown value is null. */
#pragma once

#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/text/json.h"

/* `only`: the trace that is written, -1 for all. With the timeline of `timeline_steps` steps; 0:
 * without one. *text is malloc'd. OUT_OF_MEMORY. */
enum status diagnosis_json(const struct diagnosis *diagnosis, int only, int timeline_steps,
                           char **text);

/* A place in the program as above, as member `name` of `to`; null where it is unknown. */
void place_json(struct json *json, cJSON *to, const char *name, const struct call_place *place);

/* An array of findings as above, as member `name` of `to`. */
void findings_json(struct json *json, cJSON *to, const char *name, const struct findings *findings);
