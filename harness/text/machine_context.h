/* The machine in the `context` of a result file. */
#pragma once

#include "harness/base/system/machine.h"
#include "harness/text/json.h"

/* Adds the members of Google Benchmark's `context`, in its order, and further ones as strings:
 * `environment` are this process's variables that change how fast a device works
 * (environment.h). */
void machine_context(const struct machine *machine, struct json *json, cJSON *context);
