/* The output of `run` for kernel lessons. */
#ifndef HARNESS_LAB_LESSONS_LESSON_TABLE_H
#define HARNESS_LAB_LESSONS_LESSON_TABLE_H

#include "harness/lab/lessons/lesson_result.h"
#include "harness/text/page.h"

/* A block for each result, and their number by verdict. Nothing where there is none. */
void lesson_table(const struct page *page, const struct lesson_result *results, int count);

/* "2048" or "5.00 MiB": whole numbers below a million are written out. */
void lesson_count_print(char *text, size_t size, double value, const char *unit);

#endif
