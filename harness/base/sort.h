/* Sorting: numbers, and records that are nearly always in order, as profilers write events of a
 * thread or stream as they come. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* How two numbers, or two pointers, compare, as qsort() asks: below 0, 0, or above 0. */
#define COMPARE(left, right) (((left) > (right)) - ((left) < (right)))

/* Defines a comparator of items of `type`, for sort_items(), qsort() and bsearch(). `order`
 * compares *a with *b, key by key: COMPARATOR(by_place, struct event_frame, ASCENDING(track) ?:
 * DESCENDING(end_ns)) */
#define COMPARATOR(name, type, order)                                                              \
    static int name(const void *left, const void *right)                                           \
    {                                                                                              \
        const type *a = left, *b = right;                                                          \
                                                                                                   \
        return __extension__(order);                                                               \
    }

/* The same for items that are pointers to `type`. */
#define COMPARATOR_OF_POINTERS(name, type, order)                                                  \
    static int name(const void *left, const void *right)                                           \
    {                                                                                              \
        const type *a = *(const type *const *)left, *b = *(const type *const *)right;              \
                                                                                                   \
        return __extension__(order);                                                               \
    }

/* One key: a member, the least first or the most first. */
#define ASCENDING(member)  COMPARE(a->member, b->member)
#define DESCENDING(member) COMPARE(b->member, a->member)

/* Like qsort(), but one pass is enough if the items are in order already, and runs that are in
 * order are merged. */
void sort_items(void *items, int64_t count, size_t size,
                int (*compare)(const void *left, const void *right));

/* The least first. */
void sort_int64(int64_t *values, int64_t count);

/* glibc's qsort() with a context, which emscripten lacks (base/system/web.c). */
void qsort_r(void *items, size_t count, size_t size,
             int (*compare)(const void *left, const void *right, void *context), void *context);
