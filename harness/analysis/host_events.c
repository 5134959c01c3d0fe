#include "harness/analysis/host_events.h"

#include "harness/analysis/event_names.h"
#include "harness/base/sort.h"

#include <stdlib.h>

static bool is_host(const struct trace_file *trace, const struct trace_event *event)
{
    int64_t step;

    if (trace_event_is_call(event))
        return true;
    return (event->kind == EVENT_KIND_OPERATOR || event->kind == EVENT_KIND_ANNOTATION) &&
           !name_is_step(trace_file_name(trace, event->name), &step);
}

static int by_place(const void *left, const void *right)
{
    const struct trace_event *a = *(const struct trace_event *const *)left;
    const struct trace_event *b = *(const struct trace_event *const *)right;

    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (trace_event_is_call(a) != trace_event_is_call(b))
        return trace_event_is_call(a) ? 1 : -1;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns ? -1 : 1;
    return (a > b) - (a < b);
}

enum status host_events_make(const struct trace_event ***events, int64_t *count,
                             const struct trace_file *trace)
{
    enum status status = STATUS_OK;
    int64_t room = 1;

    *count = 0;
    for (int64_t i = 0; i < trace->event_count; i++) room += is_host(trace, &trace->events[i]);
    *events = malloc((size_t)room * sizeof **events);
    if (*events == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %lld events of the host", (long long)room);
    for (int64_t i = 0; i < trace->event_count; i++)
        if (is_host(trace, &trace->events[i]))
            (*events)[(*count)++] = &trace->events[i];
    sort_items(*events, *count, sizeof **events, by_place);

out:
    return status;
}
