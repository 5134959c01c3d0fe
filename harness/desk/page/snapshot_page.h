/* The page of a snapshot of PyTorch's memory, and a snapshot beside the trace of the same run: one
 * page, with the findings of both in one order. */
#pragma once

#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/desk/snapshot/snapshot.h"
#include "harness/text/page.h"

/* Tables of at most `rows` rows; 0: as many as fit. With `is_joined` its findings stand elsewhere
 * on the page. */
void snapshot_page(const struct page *page, const struct snapshot_file *file, int rows,
                   bool is_joined);

/* Sets diagnosis->joined, and joins findings of the file to those of the first trace. The trace
 * says what costs time, and how large the device is: so churn that it does not show is minor, and
 * so are free pieces of less than a quarter of the device, unless memory ran out. OUT_OF_MEMORY. */
enum status snapshot_join(struct diagnosis *diagnosis, const struct snapshot_file *file);
