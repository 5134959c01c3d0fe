/* A natural merge sort: runs that are in order already are found in one pass, and two neighbours at
 * a time are merged. */
#include "harness/base/sort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct sorting {
    char *items;
    size_t size;
    int (*compare)(const void *left, const void *right);
    int64_t *ends; /* of the runs */
    int64_t run_count;
};

/* The end of the run that begins at `from`. */
static int64_t run_end(const struct sorting *sorting, int64_t from, int64_t count)
{
    const char *item = sorting->items + (size_t)from * sorting->size;

    for (from++; from < count; from++, item += sorting->size)
        if (sorting->compare(item, item + sorting->size) > 0)
            break;
    return from;
}

/* False: they are more than `most`, and so the items are in no order. */
static bool find_runs(struct sorting *sorting, int64_t count, int64_t most)
{
    for (int64_t at = 0; at < count;) {
        if (sorting->run_count == most)
            return false;
        at = run_end(sorting, at, count);
        sorting->ends[sorting->run_count++] = at;
    }
    return true;
}

/* Merges the runs [from, middle) and [middle, end) of `items` into the same place of `merged`. */
static void merge(const struct sorting *sorting, char *merged, int64_t from, int64_t middle,
                  int64_t end)
{
    const size_t size = sorting->size;
    const char *left = sorting->items + (size_t)from * size;
    const char *const left_end = sorting->items + (size_t)middle * size, *right = left_end;
    const char *const right_end = sorting->items + (size_t)end * size;

    merged += (size_t)from * size;
    while (left < left_end && right < right_end) {
        const char **next = sorting->compare(left, right) > 0 ? &right : &left;
        memcpy(merged, *next, size);
        *next += size;
        merged += size;
    }
    memcpy(merged, left, (size_t)(left_end - left));
    memcpy(merged + (left_end - left), right, (size_t)(right_end - right));
}

/* Merges each two neighbours, into `merged`, and halves the runs. */
static void merge_pairs(struct sorting *sorting, char *merged)
{
    int64_t count = 0, from = 0;

    for (int64_t run = 0; run < sorting->run_count; run += 2) {
        int64_t middle = sorting->ends[run];
        int64_t end = run + 1 < sorting->run_count ? sorting->ends[run + 1] : middle;
        merge(sorting, merged, from, middle, end);
        sorting->ends[count++] = from = end;
    }
    sorting->run_count = count;
}

void sort_items(void *items, int64_t count, size_t size,
                int (*compare)(const void *left, const void *right))
{
    enum { ITEMS_PER_RUN = 16 }; /* in shorter ones qsort() is as fast */
    struct sorting sorting = { items, size, compare, NULL, 0 };
    int64_t most = count / ITEMS_PER_RUN + 2;
    char *room = NULL;

    if (count < 2 || run_end(&sorting, 0, count) == count)
        return;
    sorting.ends = malloc((size_t)most * sizeof *sorting.ends);
    if (sorting.ends != NULL && find_runs(&sorting, count, most))
        room = malloc((size_t)count * size);
    if (room != NULL) {
        char *merged = room;
        while (sorting.run_count > 1) {
            char *before = sorting.items;
            merge_pairs(&sorting, merged);
            sorting.items = merged;
            merged = before;
        }
        if (sorting.items == room)
            memcpy(items, room, (size_t)count * size);
    } else {
        qsort(items, (size_t)count, size, compare);
    }
    free(room);
    free(sorting.ends);
}

/* --- Numbers --- */

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, RADIX_LEAST = 512 /* fewer are compared */ };

COMPARATOR(by_value, int64_t, COMPARE(*a, *b))

static size_t digit_of(int64_t value, int64_t least, int shift)
{
    return ((uint64_t)value - (uint64_t)least) >> shift & (DIGITS - 1);
}

/* Copies the values in the order of one digit. */
static void copy_by_digit(int64_t *to, const int64_t *from, int64_t count, int64_t least, int shift)
{
    int64_t places[DIGITS] = { 0 }, place = 0;

    for (int64_t i = 0; i < count; i++) places[digit_of(from[i], least, shift)]++;
    for (int digit = 0; digit < DIGITS; digit++) {
        int64_t before = place;
        place += places[digit];
        places[digit] = before;
    }
    for (int64_t i = 0; i < count; i++) to[places[digit_of(from[i], least, shift)]++] = from[i];
}

/* By radix, the last digit first, of as many digits as the values differ in. */
void sort_int64(int64_t *values, int64_t count)
{
    int64_t *room = count >= RADIX_LEAST ? malloc((size_t)count * sizeof *room) : NULL;
    int64_t *from = values, *to = room, least, most;

    if (room == NULL) {
        sort_items(values, count, sizeof *values, by_value);
        return;
    }
    least = most = values[0];
    for (int64_t i = 1; i < count; i++) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    for (int shift = 0; shift < 64 && ((uint64_t)most - (uint64_t)least) >> shift > 0;
         shift += DIGIT_BITS) {
        int64_t *sorted = to;
        copy_by_digit(to, from, count, least, shift);
        to = from;
        from = sorted;
    }
    if (from == room)
        memcpy(values, room, (size_t)count * sizeof *values);
    free(room);
}
