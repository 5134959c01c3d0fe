/* Snapshots of PyTorch's memory for programs. docs/diagnosis.md describes the members. */
#pragma once

#include "harness/desk/snapshot/snapshot.h"
#include "harness/text/json.h"

/* Adds an array of files as the member "snapshots". `joined`: the one whose findings stand among
 * those of the trace; NULL: none is. */
void snapshots_json(struct json *json, cJSON *to, const struct snapshot_file *files, int count,
                    const struct snapshot_file *joined);
