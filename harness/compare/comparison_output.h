/* A comparison, for people and for programs. */
#ifndef HARNESS_COMPARE_COMPARISON_OUTPUT_H
#define HARNESS_COMPARE_COMPARISON_OUTPUT_H

#include "harness/compare/comparison.h"
#include "harness/text/page.h"

/* `doubts` is the text of compare_doubts(). */
void comparison_page(const struct page *page, const struct comparison *comparison,
                     const char *doubts);

/* {"schema": 1, "metric", "time_unit", "larger_is_better", "threshold", "noise", "noise_common", "base":
 * [files], "new": [files], "doubts", "counts": {"slower": 1, ...}, "rows": [{"name", "verdict", "reason",
 * "lost", "base", "new", "change", "interval": [low, high], "noise_within", "noise_between",
 * "noise_from", "runs": [base, new], "repetitions": [base, new]}]};
 * an unknown value is null. "noise_common" is the part of a run's noise that moves all its rows, as a
 * relative standard deviation. *text is malloc'd. */
enum status comparison_json(const struct comparison *comparison, const struct compare_files *sides,
                            const char *doubts, char **text);

#endif
