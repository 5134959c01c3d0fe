/* Work comes sorted by start, so the first work of a call is the one at which the call is seen first. */
#include "harness/analysis/launches.h"

#include "harness/analysis/intervals.h"
#include "harness/analysis/sorting.h"

#include <stdlib.h>
#include <string.h>

/* When launches of a stream were issued, or when their work began. */
struct moment {
    int64_t at_ns;
    uint32_t stream; /* track */
};

static int by_stream_and_time(const void *left, const void *right)
{
    const struct moment *a = left, *b = right;

    if (a->stream != b->stream)
        return a->stream < b->stream ? -1 : 1;
    return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

/* A launch is in its stream's queue from its call until its work begins; what enters and leaves at once was
 * queued. Both lists are of the same launches. */
static int64_t deepest(struct moment *issued, struct moment *begun, int64_t count)
{
    int64_t most = 0, left = 0;

    sort_items(issued, count, sizeof *issued, by_stream_and_time);
    sort_items(begun, count, sizeof *begun, by_stream_and_time);
    for (int64_t i = 0; i < count; i++) {
        while (by_stream_and_time(&begun[left], &issued[i]) < 0) left++;
        most = i + 1 - left > most ? i + 1 - left : most;
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
    size_t room = (size_t)timeline->work_count + 1;
    struct moment *issued = malloc(room * sizeof *issued), *begun = malloc(room * sizeof *begun);
    int64_t count = 0;

    memset(launches, 0, sizeof *launches);
    if (seen == NULL || issued == NULL || begun == NULL)
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
            issued[count] = (struct moment){ work->call->start_ns, work->event->track };
            begun[count++] = (struct moment){ work->event->start_ns, work->event->track };
        }
    }
    launches->queue_max = deepest(issued, begun, count);

out:
    free(seen);
    free(issued);
    free(begun);
    return status;
}
