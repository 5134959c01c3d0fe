/* A diagnosis for people: what was read, where the step's time went, what is wrong, and the tables that
 * one looks at next. For several ranks of a run: first how they compare, then the page of the slowest, then
 * what is wrong with the others. */
#ifndef HARNESS_REPORT_DIAGNOSIS_PAGE_H
#define HARNESS_REPORT_DIAGNOSIS_PAGE_H

#include "harness/diagnosis/diagnosis.h"
#include "harness/text/page.h"

void diagnosis_page(const struct page *page, const struct diagnosis *diagnosis);

/* "Costs 840 us per step, 35% of it; predicted gain 1.50x; high confidence.", without what is not known.
 * `step_ns`: a step's mean; 0: unknown. */
void diagnosis_cost(char *text, size_t size, const struct finding *finding, double step_ns);

#endif
