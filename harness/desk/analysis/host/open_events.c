/* A stack: events of a thread nest, so the innermost is the first to end. */
#include "harness/desk/analysis/host/open_events.h"

#include <stddef.h>

static void show_innermost(struct open_events *open, int64_t until_ns, open_events_visit *visit,
                           void *context)
{
    int64_t start_ns = open->cursor_ns;

    if (until_ns <= start_ns)
        return;
    open->cursor_ns = until_ns;
    if (visit != NULL)
        visit(context, open->depth - 1, start_ns, until_ns);
}

void open_events_advance(struct open_events *open, const struct trace_event *next,
                         open_events_visit *visit, void *context)
{
    while (open->depth > 0) {
        const struct trace_event *top = open->items[open->depth - 1];
        if (next != NULL && next->track == top->track && next->start_ns < top->end_ns) {
            show_innermost(open, next->start_ns, visit, context);
            return;
        }
        show_innermost(open, top->end_ns, visit, context);
        open->depth--;
    }
    if (next != NULL)
        open->cursor_ns = next->start_ns;
}

int open_events_push(struct open_events *open, const struct trace_event *event)
{
    if (open->depth == OPEN_DEPTH)
        return -1;
    open->items[open->depth] = event;
    return open->depth++;
}
