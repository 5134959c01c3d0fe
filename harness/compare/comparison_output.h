/* A comparison, for people and for programs. */
#ifndef HARNESS_COMPARE_COMPARISON_OUTPUT_H
#define HARNESS_COMPARE_COMPARISON_OUTPUT_H

#include "harness/compare/comparison.h"
#include "harness/text/page.h"

/* Remarks beside the rows. */
struct comparison_remarks {
    char doubts[1024]; /* of compare_doubts() */
    bool passes;       /* and why not: of comparison_passes() */
    char why[160];
};

void comparison_page(const struct page *page, const struct comparison *comparison,
                     const struct comparison_remarks *remarks);

/* docs/compare.md documents the members. *text is malloc'd. */
enum status comparison_json(const struct comparison *comparison, const struct compare_files *sides,
                            const struct comparison_remarks *remarks, char **text);

#endif
