#include "harness/lab/record/graph_spans.h"

#include <stdio.h>
#include <stdlib.h>

void graph_spans_release(struct graph_spans *spans)
{
    free(spans->items);
    *spans = (struct graph_spans){ 0 };
}

void graph_spans_add(struct graph_spans *spans, const char *name, int first, int end)
{
    struct graph_span *span;

    if (spans == NULL || first < 0 || first >= end)
        return;
    if (spans->count == spans->room) {
        int room = spans->room > 0 ? 2 * spans->room : 64;
        struct graph_span *items = realloc(spans->items, (size_t)room * sizeof *items);
        if (items == NULL)
            return;
        spans->items = items;
        spans->room = room;
    }
    span = &spans->items[spans->count++];
    snprintf(span->name, sizeof span->name, "%s", name);
    span->first = first;
    span->end = end;
}
