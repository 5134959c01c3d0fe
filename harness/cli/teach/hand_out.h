/* The head of a hand-out, before its lessons: title, how to use it, and contents. For Markdown. */
#ifndef HARNESS_CLI_TEACH_HAND_OUT_H
#define HARNESS_CLI_TEACH_HAND_OUT_H

#include "harness/cli/job/choose.h"
#include "harness/text/page.h"

/* The contents link to the lesson of each chosen scenario, by what is at fault as `list` has them,
 * and
 * (`findings`) to those of the findings. */
void hand_out_begin(const struct page *page, const struct choice *choice, bool findings);

#endif
