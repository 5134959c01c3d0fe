/* The document of the page of a job: what `job --out` shows. */
#pragma once

#include "harness/base/status.h"
#include "harness/text/json.h"

/* *document is for cJSON_Delete(). Digests that cannot be read are named on standard error, and
 * *troubles counts them and those of other jobs. BAD_INPUT: none is left; OUT_OF_MEMORY. */
enum status job_document(cJSON **document, struct json *json, int *troubles,
                         const char *const *digests, int count);
