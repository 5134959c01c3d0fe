/* Sorting: numbers, and records that are nearly always in order, as profilers write events of a thread or stream as they
 * come. */
#ifndef HARNESS_BASE_SORT_H
#define HARNESS_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Like qsort(), but items that are equal keep their order, one pass is enough for items that are in order already, and a few
 * for some runs one behind the other. Of many short runs qsort() makes one, if that cannot be helped. */
void sort_items(void *items, int64_t count, size_t size,
                int (*compare)(const void *left, const void *right));

/* The least first. */
void sort_int64(int64_t *values, int64_t count);

#endif
