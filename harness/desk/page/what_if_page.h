/* The step as recorded, and without some causes, a bar each on one time scale (what_if.h). */
#pragma once

#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/text/page.h"

/* The page of trace number `which`, by the diagnosis' choice. */
void what_if_page(const struct page *page, const struct diagnosis *diagnosis, int which);
