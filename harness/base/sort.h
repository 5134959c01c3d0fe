/* Sorting: numbers, and records that are nearly always in order, as profilers write events of a thread or stream as they
 * come. */
#ifndef HARNESS_BASE_SORT_H
#define HARNESS_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Like qsort(), but one pass is enough if the items are in order already, and runs that are in order are merged. */
void sort_items(void *items, int64_t count, size_t size,
                int (*compare)(const void *left, const void *right));

/* The least first. */
void sort_int64(int64_t *values, int64_t count);

#endif
