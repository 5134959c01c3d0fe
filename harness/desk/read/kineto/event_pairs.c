/* The halves are sorted by thread and time; one pass with a stack then joins them. The stack is a
 * chain through the halves themselves (`below`), so matching needs no memory of its own. */
#include "harness/desk/read/kineto/event_pairs.h"

#include "harness/base/rows.h"
#include "harness/base/sort.h"

#include <stdlib.h>

void event_pairs_release(struct event_pairs *pairs)
{
    free(pairs->halves);
    *pairs = (struct event_pairs){ NULL, 0, 0 };
}

enum status event_pairs_add(struct event_pairs *pairs, struct event_half half)
{
    TRY(rows_grow(&pairs->halves, pairs->count + 1, &pairs->room));
    pairs->halves[pairs->count++] = half;

    return STATUS_OK;
}

static bool same_thread(const struct event_half *a, const struct event_half *b)
{
    return a->process == b->process && a->thread == b->thread;
}

COMPARATOR(by_thread_and_time, struct event_half,
           ASCENDING(process) ?: ASCENDING(thread) ?: ASCENDING(at_ns) ?: ASCENDING(offset))

void event_pairs_match(struct event_pairs *pairs)
{
    struct event_half *halves = pairs->halves;
    int64_t top = -1;

    if (pairs->count == 0)
        return;
    qsort(halves, (size_t)pairs->count, sizeof *halves, by_thread_and_time);
    for (int64_t i = 0; i < pairs->count; i++) {
        if (i > 0 && !same_thread(&halves[i - 1], &halves[i]))
            top = -1;
        if (!halves[i].is_end) {
            halves[i].below = top;
            top = i;
        } else if (top >= 0) {
            halves[top].end_ns = halves[i].at_ns;
            halves[top].paired = halves[i].paired = true;
            top = halves[top].below;
        }
    }
}
