/* The page of a snapshot of PyTorch's memory. */
#ifndef HARNESS_DESK_PAGE_SNAPSHOT_PAGE_H
#define HARNESS_DESK_PAGE_SNAPSHOT_PAGE_H

#include "harness/desk/snapshot/snapshot.h"
#include "harness/text/page.h"

/* Tables of at most `rows` rows; 0: as many as fit. With `is_joined` its findings stand elsewhere
 * on the page. */
void snapshot_page(const struct page *page, const struct snapshot_file *file, int rows,
                   bool is_joined);

#endif
