/* Sorting records that are nearly always in order: profilers write events of a thread or stream as they come. */
#ifndef HARNESS_BASE_SORT_H
#define HARNESS_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Like qsort(), but one pass is enough if the items are in order already. */
void sort_items(void *items, int64_t count, size_t size,
                int (*compare)(const void *left, const void *right));

/* An order for qsort() and sort_items(): of int64_t, the least first. */
int sort_by_int64(const void *left, const void *right);

#endif
