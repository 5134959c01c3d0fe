/* The record.json that `record` writes beside the traces of a program: the processes, and the trace
 * of each. Traces with stacks lie below stacks/. */
#pragma once

#include "harness/desk/diagnosis/program_times.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdbool.h>

#define RECORD_FILE   "record.json"
#define RECORD_STACKS "stacks"

/* Whether the trace of that name is one of the process, an object of record.json. */
bool record_file_names(const cJSON *process, const char *trace);

/* The times of the whole program whose trace this is, from record.json beside it. False: there are
 * none. */
bool record_file_program(struct program_times *times, const char *trace);

/* The path of the trace with stacks that is of the same process as this trace. False: there is
 * none. */
bool record_file_stacks(char path[PATH_MAX], const char *trace);
