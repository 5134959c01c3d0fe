/* Sums up to each moment, so that a span costs two searches, which begin where the last one
 * ended. */
#include "harness/desk/analysis/tables/allocated.h"

#include "harness/base/bisect.h"
#include "harness/base/sort.h"

COMPARATOR(by_time, struct allocated_moment, ASCENDING(at_ns))

struct allocated allocated_of(struct arena *arena, const struct trace_file *trace)
{
    struct allocated allocated = { .count = 0 };
    struct allocated_bytes sum = { 0, 0 };

    if (trace->block_count == 0)
        return allocated;
    allocated.moments = ARENA_NEW(arena, struct allocated_moment, trace->block_count + 1);
    for (int64_t i = 0; i < trace->event_count; i++) {
        const struct trace_event *event = &trace->events[i];
        struct allocated_moment *moment = &allocated.moments[allocated.count];
        if (event->kind != EVENT_KIND_MEMORY || allocated.count == trace->block_count)
            continue;
        *moment = (struct allocated_moment){ .at_ns = event->start_ns };
        if (trace->blocks[event->detail].on_device)
            moment->before.device = event->bytes;
        else
            moment->before.host = event->bytes;
        allocated.count++;
    }
    sort_items(allocated.moments, allocated.count, sizeof *allocated.moments, by_time);
    for (int64_t i = 0; i <= allocated.count; i++) {
        struct allocated_bytes own = { 0, 0 };
        if (i < allocated.count)
            own = allocated.moments[i].before;
        allocated.moments[i].before = sum;
        sum.host = (int64_t)((uint64_t)sum.host + (uint64_t)own.host);
        sum.device = (int64_t)((uint64_t)sum.device + (uint64_t)own.device);
    }
    return allocated;
}

/* The first moment at or after `at_ns`. */
static int64_t first(const struct allocated *allocated, int64_t at_ns, int64_t near)
{
    int64_t low = 0, high = allocated->count;

    BISECT_NEAR(low, high, near, i, allocated->moments[i].at_ns < at_ns);
    return low;
}

struct allocated_bytes allocated_within(struct allocated *allocated, int64_t start_ns,
                                        int64_t end_ns)
{
    struct allocated_bytes from, to;
    int64_t end;

    if (allocated->count == 0)
        return (struct allocated_bytes){ 0, 0 };
    allocated->near = first(allocated, start_ns, allocated->near);
    end = end_ns < INT64_MAX ? first(allocated, end_ns + 1, allocated->near) : allocated->count;
    from = allocated->moments[allocated->near].before;
    to = allocated->moments[end].before;
    return (struct allocated_bytes){
        (int64_t)((uint64_t)to.host - (uint64_t)from.host),
        (int64_t)((uint64_t)to.device - (uint64_t)from.device),
    };
}
