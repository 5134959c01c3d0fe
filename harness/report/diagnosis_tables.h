/* The tables of a diagnosis: kernels, copies, phases, operators and memory. */
#ifndef HARNESS_REPORT_DIAGNOSIS_TABLES_H
#define HARNESS_REPORT_DIAGNOSIS_TABLES_H

#include "harness/analysis/summary.h"
#include "harness/text/page.h"

/* Those of which the trace has something; the longest rows of each. */
void diagnosis_tables(const struct page *page, const struct summary *summary);

#endif
