/* A snapshot of memory beside the trace of the same run: one page, with the findings of both in one
 * order. */
#ifndef HARNESS_DESK_PAGE_SNAPSHOT_JOIN_H
#define HARNESS_DESK_PAGE_SNAPSHOT_JOIN_H

#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/desk/snapshot/snapshot.h"

/* Sets diagnosis->joined, and joins findings of the file to those of the first trace. The trace
 * says what costs time, and how large the device is: so churn that it does not show is minor, and
 * so are free pieces of less than a quarter of the device, unless memory ran out. OUT_OF_MEMORY. */
enum status snapshot_join(struct diagnosis *diagnosis, const struct snapshot_file *file);

#endif
