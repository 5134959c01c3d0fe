/* The tables of annotations and operators. */
#pragma once

#include "harness/desk/analysis/summary.h"
#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/text/page.h"

/* Those of which the trace has something. Without memory for their order they are not printed, and
 * the page says so. */
void operator_tables(const struct page *page, const struct summary *summary,
                     const struct table_choice *choice);
