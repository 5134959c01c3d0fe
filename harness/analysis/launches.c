/* Work comes sorted by start, so the first work of a call is the one at which the call is seen first. */
#include "harness/analysis/launches.h"

#include "harness/analysis/intervals.h"

#include <stdlib.h>
#include <string.h>

/* A launch enters its stream's queue at its call and leaves it when its work begins. */
struct queue_change {
    uint32_t stream; /* track */
    int64_t at_ns;
    int change;
};

static int by_stream_and_time(const void *left, const void *right)
{
    const struct queue_change *a = left, *b = right;

    if (a->stream != b->stream)
        return a->stream < b->stream ? -1 : 1;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    return b->change - a->change; /* what enters and leaves at once was queued */
}

static int64_t deepest(struct queue_change *changes, int64_t count)
{
    int64_t depth = 0, most = 0;

    qsort(changes, (size_t)count, sizeof *changes, by_stream_and_time);
    for (int64_t i = 0; i < count; i++) {
        if (i > 0 && changes[i].stream != changes[i - 1].stream)
            depth = 0;
        depth += changes[i].change;
        most = depth > most ? depth : most;
    }
    return most;
}

static void take(struct launches *launches, const struct work *work)
{
    int64_t call_ns = work->call->end_ns - work->call->start_ns;
    int64_t delay_ns = work->event->start_ns - work->call->end_ns;
    bool is_kernel = work->event->kind == EVENT_KIND_KERNEL;

    delay_ns = delay_ns > 0 ? delay_ns : 0;
    launches->count++;
    launches->host_ns = ns_sum(launches->host_ns, call_ns);
    launches->delay_ns = ns_sum(launches->delay_ns, delay_ns);
    if (delay_ns > launches->delay_max_ns)
        launches->delay_max_ns = delay_ns;
    launches->long_call_count += call_ns > LAUNCH_LONG_CALL_NS;
    launches->long_delay_count += delay_ns > LAUNCH_LONG_DELAY_NS;
    launches->short_count += is_kernel && call_ns <= LAUNCH_LONG_CALL_NS &&
                             work->event->end_ns - work->event->start_ns < call_ns;
}

enum status launches_make(struct launches *launches, const struct timeline *timeline)
{
    enum status status = STATUS_OK;
    const struct trace_file *trace = timeline->trace;
    bool *seen = calloc((size_t)trace->event_count + 1, sizeof *seen);
    struct queue_change *changes = calloc(2 * (size_t)timeline->work_count + 1, sizeof *changes);
    int64_t change_count = 0;

    memset(launches, 0, sizeof *launches);
    if (seen == NULL || changes == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %lld launches", (long long)timeline->work_count);
    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        if (work->call == NULL) {
            launches->orphan_count++;
            continue;
        }
        launches->work_count++;
        if (seen[work->call - trace->events])
            continue;
        seen[work->call - trace->events] = true;
        take(launches, work);
        if (work->call->start_ns <= work->event->start_ns) {
            uint32_t stream = work->event->track;
            changes[change_count++] = (struct queue_change){ stream, work->call->start_ns, 1 };
            changes[change_count++] = (struct queue_change){ stream, work->event->start_ns, -1 };
        }
    }
    launches->queue_max = deepest(changes, change_count);

out:
    free(seen);
    free(changes);
    return status;
}
