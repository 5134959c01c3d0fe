/* The ranks of a run beside each other. */
#ifndef HARNESS_REPORT_DIAGNOSIS_RANKS_H
#define HARNESS_REPORT_DIAGNOSIS_RANKS_H

#include "harness/diagnosis/diagnosis.h"
#include "harness/text/page.h"

/* Prints them, and how unequal they are. *slowest: the file of the rank with most work of its own, which
 * is the step without the communication that it waits in; collectives make the steps themselves equal. */
void diagnosis_ranks(const struct page *page, const struct diagnosis *diagnosis, int *slowest);

#endif
