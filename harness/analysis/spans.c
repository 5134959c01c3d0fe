/* One sweep per thread over spans and calls, by start, with a stack of the spans that are open. */
#include "harness/analysis/spans.h"

#include "harness/analysis/intervals.h"

#include <stdlib.h>
#include <string.h>

struct open_span {
    const struct trace_event *event;
    bool outermost; /* of its name */
};

struct sweep {
    const struct timeline *timeline;
    int64_t *device_ns;    /* by event: the work that a call caused */
    struct span_row *rows; /* by name */
    int *open_by_name;
    struct open_span stack[SPANS_DEPTH];
    int depth;
};

static void close_spans(struct sweep *sweep, const struct trace_event *next)
{
    while (sweep->depth > 0) {
        const struct open_span *top = &sweep->stack[sweep->depth - 1];
        if (next != NULL && next->track == top->event->track && next->start_ns < top->event->end_ns)
            return;
        sweep->open_by_name[top->event->name]--;
        sweep->depth--;
    }
}

static void open_span(struct sweep *sweep, const struct trace_event *event)
{
    struct span_row *row = &sweep->rows[event->name];
    int64_t ns = event->end_ns - event->start_ns;
    bool outermost = sweep->open_by_name[event->name] == 0;

    if (sweep->depth == SPANS_DEPTH)
        return;
    row->name = event->name;
    row->is_phase = event->kind == EVENT_KIND_ANNOTATION;
    row->count++;
    row->host_self_ns = intervals_sum_ns(row->host_self_ns, ns);
    if (outermost)
        row->host_total_ns = intervals_sum_ns(row->host_total_ns, ns);
    if (sweep->depth > 0) {
        const struct trace_event *parent = sweep->stack[sweep->depth - 1].event;
        int64_t end = event->end_ns < parent->end_ns ? event->end_ns : parent->end_ns;
        sweep->rows[parent->name].host_self_ns -= end - event->start_ns;
    }
    sweep->open_by_name[event->name]++;
    sweep->stack[sweep->depth++] = (struct open_span){ event, outermost };
}

static void take_call(struct sweep *sweep, const struct trace_event *event)
{
    int64_t ns = sweep->device_ns[event - sweep->timeline->trace->events];

    if (ns == 0 || sweep->depth == 0)
        return;
    for (int i = 0; i < sweep->depth; i++) {
        struct span_row *row = &sweep->rows[sweep->stack[i].event->name];
        if (sweep->stack[i].outermost)
            row->device_total_ns = intervals_sum_ns(row->device_total_ns, ns);
        if (i == sweep->depth - 1)
            row->device_self_ns = intervals_sum_ns(row->device_self_ns, ns);
    }
}

static void sweep_over(struct sweep *sweep)
{
    for (int64_t i = 0; i < sweep->timeline->host_count; i++) {
        const struct trace_event *event = sweep->timeline->host[i];
        close_spans(sweep, event);
        if (trace_event_is_call(event))
            take_call(sweep, event);
        else
            open_span(sweep, event);
    }
    close_spans(sweep, NULL);
}

static void collect_work(struct sweep *sweep)
{
    const struct timeline *timeline = sweep->timeline;
    const struct trace_file *trace = timeline->trace;

    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        if (work->call != NULL) {
            int64_t *ns = &sweep->device_ns[work->call - trace->events];
            *ns = intervals_sum_ns(*ns, work->event->end_ns - work->event->start_ns);
        }
    }
}

static int by_device_time(const void *left, const void *right)
{
    const struct span_row *a = left, *b = right;

    if (a->device_total_ns != b->device_total_ns)
        return a->device_total_ns > b->device_total_ns ? -1 : 1;
    if (a->host_total_ns != b->host_total_ns)
        return a->host_total_ns > b->host_total_ns ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

enum status spans_make(struct spans *spans, const struct timeline *timeline)
{
    enum status status = STATUS_OK;
    size_t names = trace_file_name_count(timeline->trace);
    size_t events = (size_t)timeline->trace->event_count + 1;
    struct sweep *sweep = calloc(1, sizeof *sweep);

    *spans = (struct spans){ NULL, 0 };
    if (sweep == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %zu operators", names);
    sweep->timeline = timeline;
    sweep->device_ns = calloc(events, sizeof *sweep->device_ns);
    sweep->open_by_name = calloc(names, sizeof *sweep->open_by_name);
    spans->rows = sweep->rows = calloc(names, sizeof *sweep->rows);
    if (sweep->device_ns == NULL || sweep->open_by_name == NULL || sweep->rows == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %zu operators", names);
    collect_work(sweep);
    sweep_over(sweep);
    for (size_t i = 0; i < names; i++)
        if (spans->rows[i].count > 0)
            spans->rows[spans->count++] = spans->rows[i];
    qsort(spans->rows, (size_t)spans->count, sizeof *spans->rows, by_device_time);

out:
    if (sweep != NULL) {
        free(sweep->device_ns);
        free(sweep->open_by_name);
    }
    free(sweep);
    return status;
}

void spans_release(struct spans *spans)
{
    free(spans->rows);
    *spans = (struct spans){ NULL, 0 };
}

const struct span_row *spans_find(const struct spans *spans, const struct trace_file *trace,
                                  const char *name, bool begins)
{
    for (int64_t i = 0; i < spans->count; i++) {
        const char *row = trace_file_name(trace, spans->rows[i].name);
        if (begins ? strncmp(row, name, strlen(name)) == 0 : strcmp(row, name) == 0)
            return &spans->rows[i];
    }
    return NULL;
}
