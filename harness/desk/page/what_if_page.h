/* The step as recorded, and without some causes, a bar each on one time scale (what_if.h). */
#ifndef HARNESS_DESK_PAGE_WHAT_IF_PAGE_H
#define HARNESS_DESK_PAGE_WHAT_IF_PAGE_H

#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/text/page.h"

/* The page of trace number `which`, by the diagnosis' choice. */
void what_if_page(const struct page *page, const struct diagnosis *diagnosis, int which);

#endif
