/* The folder of traces beside a result.json of `run`, and the traces that the file names. */
#pragma once

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdbool.h>

#define RESULT_TRACES "traces" /* the folder's name; "traces-2" and so on, if that one is taken */
enum {
    RESULT_TRACES_NAME = 32, /* a folder of traces: bytes of its name */
    RESULT_TRACES_MOST = 8   /* folders; a result has one or two */
};

/* Folders of the traces that a result names: scenarios of one file may be of several runs. */
struct result_traces {
    char names[RESULT_TRACES_MOST][RESULT_TRACES_NAME];
    int count;
};

/* Whether a run calls a folder of traces so. */
bool result_traces_is_folder(const char *name);

/* A regular file of JSON in the folder that `folder` is open on, as openat() has it; *root is NULL
 * if it is no JSON. False and errno: it cannot be opened. */
bool result_json_read(cJSON **root, int folder, const char *name);

/* The path of a scenario's trace as result.json has it, "traces/NAME"; NULL: none. `variant`:
 * "before" or "after". */
const char *result_trace_path(const cJSON *scenario, const char *variant);

/* Whether the trace `name` of a result in `folder` is a regular file in it; `path` is then where. A
 * result of somebody else may name a FIFO, which never ends, or a file of the user. */
bool result_trace_is_beside(char path[PATH_MAX], const char *folder, const char *name);

/* The folders of the traces that `scenarios` name, those of a result.json. */
struct result_traces result_traces_of(const cJSON *scenarios);

/* The same for result.json in the folder `path`; none as well if it is no result of a run. */
struct result_traces result_traces_in(const char *path);

/* Where the trace `name` of the result in `folder` is; false: in none of its folders. */
bool result_traces_find(char path[PATH_MAX], const char *folder, const char *name);
