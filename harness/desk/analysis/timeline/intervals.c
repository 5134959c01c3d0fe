/* Sets of times. Intervals are added in any order and merged once; questions then search the sorted
 * ones, so that each takes logarithmic time. */
#include "harness/desk/analysis/timeline/intervals.h"

#include "harness/base/bisect.h"
#include "harness/base/sort.h"

void intervals_add(struct intervals *intervals, int64_t start_ns, int64_t end_ns)
{
    if (start_ns >= end_ns)
        return;
    /* Most are added in the order of time, so one that touches the last joins it at once. */
    if (intervals->count > 0) {
        struct interval *last = &intervals->items[intervals->count - 1];
        if (start_ns <= last->end_ns && end_ns >= last->start_ns) {
            last->start_ns = interval_earlier(last->start_ns, start_ns);
            last->end_ns = interval_later(last->end_ns, end_ns);
            return;
        }
    }
    ARENA_ROOM(intervals->arena, intervals->items, intervals->count, intervals->room);
    intervals->items[intervals->count++] = (struct interval){ start_ns, end_ns };
}

COMPARATOR(by_start, struct interval, ASCENDING(start_ns))

void intervals_merge(struct intervals *intervals)
{
    struct interval *items = intervals->items;
    int64_t last = 0;

    if (intervals->count == 0)
        return;
    sort_items(items, intervals->count, sizeof *items, by_start);
    for (int64_t i = 1; i < intervals->count; i++) {
        if (items[i].start_ns > items[last].end_ns)
            items[++last] = items[i];
        else if (items[i].end_ns > items[last].end_ns)
            items[last].end_ns = items[i].end_ns;
    }
    intervals->count = last + 1;
}

void intervals_without(struct intervals *rest, const struct intervals *all,
                       const struct intervals *taken)
{
    for (int64_t i = 0; i < all->count; i++) {
        int64_t start_ns = all->items[i].start_ns, end_ns = all->items[i].end_ns;
        for (int64_t j = intervals_after(taken, start_ns);
             j < taken->count && taken->items[j].start_ns < end_ns; j++) {
            intervals_add(rest, start_ns, taken->items[j].start_ns);
            start_ns = taken->items[j].end_ns;
        }
        intervals_add(rest, start_ns, end_ns);
    }
}

int64_t intervals_after(const struct intervals *intervals, int64_t at_ns)
{
    int64_t low = 0, high = intervals->count;

    BISECT(low, high, i, intervals->items[i].end_ns <= at_ns);
    return low;
}

int64_t intervals_within_ns(const struct intervals *intervals, int64_t start_ns, int64_t end_ns)
{
    int64_t length = 0;

    if (start_ns >= end_ns)
        return 0;
    for (int64_t i = intervals_after(intervals, start_ns);
         i < intervals->count && intervals->items[i].start_ns < end_ns; i++)
        length += interval_earlier(intervals->items[i].end_ns, end_ns) -
                  interval_later(intervals->items[i].start_ns, start_ns);
    return length;
}

bool intervals_contain(const struct intervals *intervals, int64_t at_ns)
{
    int64_t i = intervals_after(intervals, at_ns);

    return i < intervals->count && intervals->items[i].start_ns <= at_ns;
}

int64_t intervals_sum_ns(int64_t a, int64_t b)
{
    /* Times of a broken trace may be anything. A sum that overflowed would be undefined. */
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}
