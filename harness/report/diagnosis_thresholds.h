/* The figures that the rules looked at: this trace's figure, what is good, what is bad, and who says so. */
#ifndef HARNESS_REPORT_DIAGNOSIS_THRESHOLDS_H
#define HARNESS_REPORT_DIAGNOSIS_THRESHOLDS_H

#include "harness/diagnosis/finding.h"
#include "harness/text/page.h"

void diagnosis_thresholds(const struct page *page, const struct findings *findings);

#endif
