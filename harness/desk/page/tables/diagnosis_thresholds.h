/* The figures that the rules looked at: this trace's figure, what is good, what is bad, and who
 * says so. */
#ifndef HARNESS_DESK_PAGE_TABLES_DIAGNOSIS_THRESHOLDS_H
#define HARNESS_DESK_PAGE_TABLES_DIAGNOSIS_THRESHOLDS_H

#include "harness/desk/diagnosis/rules/finding.h"
#include "harness/text/page.h"

void diagnosis_thresholds(const struct page *page, const struct findings *findings);

#endif
