/* The longest times in which no device worked. */
#pragma once

#include "harness/desk/analysis/summary.h"
#include "harness/text/page.h"

enum { LONGEST_GAPS = 20, LONGEST_GAPS_ON_PAGE = 5 };

struct longest_gaps {
    struct idle_gap items[LONGEST_GAPS]; /* the longest first */
    int count;
};

struct longest_gaps longest_gaps_of(struct arena *arena, const struct summary *summary);

/* A table of the first few: when each begins, in the file's microseconds, between which work, what
 * the host did and in which line of the program. Nothing, if no device works in the trace. */
void longest_gaps_print(const struct page *page, const struct summary *summary);
