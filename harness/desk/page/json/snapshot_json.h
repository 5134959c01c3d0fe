/* Snapshots of PyTorch's memory for programs. docs/other-files.md describes the members. */
#ifndef HARNESS_DESK_PAGE_JSON_SNAPSHOT_JSON_H
#define HARNESS_DESK_PAGE_JSON_SNAPSHOT_JSON_H

#include "harness/desk/snapshot/snapshot.h"
#include "harness/text/json.h"

/* An object for the file, added to an array. */
void snapshot_json(struct json *json, cJSON *array, const struct snapshot *snapshot,
                   const char *path);

#endif
