/* One page for the ranks of a run: what holds it back, a line per rank, which rank is slow, and
 * each finding once. */
#pragma once

#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/desk/page/diagnosis_page.h"
#include "harness/text/page.h"

/* OUT_OF_MEMORY. */
enum status diagnosis_ranks(const struct page *page, const struct diagnosis *diagnosis,
                            const struct diagnosis_view *view);

/* The first finding of a rank that it does not share with the whole run; NULL: none. */
const struct finding *diagnosis_rank_finding(const struct diagnosis *diagnosis, int which);

/* Says in a sentence or two which rank the others wait for, how long, and what that costs; or that
 * none is slow. */
enum { SLOW_RANK_TEXT = 640 };
void slow_rank_text(char *text, size_t size, const struct diagnosis *diagnosis);
