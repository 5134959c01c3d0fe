/* A kernel lesson on a page, as `explain` prints it and as `quiz` ends. */
#ifndef HARNESS_CLI_TEACH_KERNEL_LESSON_PRINT_H
#define HARNESS_CLI_TEACH_KERNEL_LESSON_PRINT_H

#include "harness/cli/teach/measured_before.h"
#include "harness/lab/kernel/lesson_run.h"
#include "harness/text/page.h"

/* The whole lesson, with the counts of an earlier run, if there were any. */
void kernel_lesson_print(const struct page *page, const struct kernel_lesson *lesson,
                         const struct measured_before *measured);

/* The launch and all counts of a variant in a table, without its name; 0 is before. */
void kernel_counts_print(const struct page *page, const struct kernel_lesson *lesson, int variant,
                         const struct lesson_counts *counts);

#endif
