/* The mix of a transformer, and what is usual beside it (mix.h). */
#ifndef HARNESS_DESK_PAGE_TABLES_MIX_TABLE_H
#define HARNESS_DESK_PAGE_TABLES_MIX_TABLE_H

#include "harness/desk/analysis/summary.h"
#include "harness/text/page.h"

/* Nothing, if the trace is not of a transformer. */
void mix_table(const struct page *page, const struct summary *summary);

#endif
