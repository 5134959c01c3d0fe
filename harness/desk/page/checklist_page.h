/* The seven questions with their answers, the figures that decided, and the findings behind them
 * (checklist.h). */
#ifndef HARNESS_DESK_PAGE_CHECKLIST_PAGE_H
#define HARNESS_DESK_PAGE_CHECKLIST_PAGE_H

#include "harness/desk/diagnosis/checklist.h"
#include "harness/text/page.h"

void checklist_page(const struct page *page, const struct checklist *checklist);

#endif
