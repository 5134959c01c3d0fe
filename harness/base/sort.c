#include "harness/base/sort.h"

#include <stdlib.h>

void sort_items(void *items, int64_t count, size_t size,
                int (*compare)(const void *left, const void *right))
{
    const char *item = items;

    for (int64_t i = 1; i < count; i++, item += size)
        if (compare(item, item + size) > 0) {
            qsort(items, (size_t)count, size, compare);
            return;
        }
}

int sort_by_int64(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}
