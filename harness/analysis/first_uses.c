/* Work is sorted by start, so a kernel is used first at the work with which its name is first seen. */
#include "harness/analysis/first_uses.h"

#include "harness/analysis/event_names.h"

#include <stdlib.h>
#include <string.h>

static int64_t duration_ns(const struct trace_event *event)
{
    return event->end_ns - event->start_ns;
}

/* The index of a call in the timeline's host events, which are sorted by thread and start. */
static int64_t place_of(const struct timeline *timeline, const struct trace_event *call)
{
    int64_t low = 0, high = timeline->host_count;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        const struct trace_event *event = timeline->host[middle];
        if (event->track != call->track ? event->track < call->track
                                        : event->start_ns < call->start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    while (low < timeline->host_count && timeline->host[low] != call) low++;
    return low;
}

/* Loading, logging and saving have work of their own, and other rules. */
static bool looks_for_kernels(const struct timeline *timeline, const struct trace_event *operator)
{
    const char *name = trace_file_name(timeline->trace, operator->name);

    return !name_is_data_loading(name) && !name_is_logging(name) && !name_is_saving(name);
}

/* The innermost operator around the call, if nothing was launched in it before. */
static int64_t begin_of(const struct timeline *timeline, const struct trace_event *call)
{
    for (int64_t i = place_of(timeline, call); i-- > 0;) {
        const struct trace_event *event = timeline->host[i];
        if (event->track != call->track)
            break;
        if (trace_event_is_call(event) &&
            name_is_launch(trace_file_name(timeline->trace, event->name)))
            break;
        if (event->kind == EVENT_KIND_OPERATOR && event->end_ns >= call->end_ns)
            return looks_for_kernels(timeline, event) ? event->start_ns : call->start_ns;
    }
    return call->start_ns;
}

static enum status find(struct first_uses *uses, struct intervals *taken,
                        const struct timeline *timeline, bool *seen)
{
    enum status status = STATUS_OK;

    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        if (work->event->kind != EVENT_KIND_KERNEL || seen[work->event->name])
            continue;
        seen[work->event->name] = true;
        if (work->call == NULL || duration_ns(work->call) < FIRST_USE_LONG_NS)
            continue;
        TRY(intervals_add(taken, begin_of(timeline, work->call), work->call->end_ns));
        uses->count++;
        if (uses->call == NULL || duration_ns(work->call) > duration_ns(uses->call)) {
            uses->call = work->call;
            uses->kernel = work->event;
        }
    }
    intervals_merge(taken);

out:
    return status;
}

enum status first_uses_make(struct first_uses *uses, const struct timeline *timeline)
{
    uint32_t names = trace_file_name_count(timeline->trace);
    bool *seen = calloc((size_t)names + 1, sizeof *seen);
    struct intervals taken = { 0 };
    enum status status = STATUS_OK;

    memset(uses, 0, sizeof *uses);
    if (seen == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %u names", names);
    TRY(find(uses, &taken, timeline, seen));
    if (uses->count > 0)
        TRY(timeline_idle_within(timeline, &taken, &uses->idle));

out:
    intervals_release(&taken);
    free(seen);
    return status;
}

void first_uses_release(struct first_uses *uses)
{
    intervals_release(&uses->idle);
}
