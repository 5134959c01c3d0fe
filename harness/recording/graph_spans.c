/* A capture must not fail because of its notes, so a lack of memory only loses a span. */
#include "harness/recording/graph_spans.h"

#include "harness/base/rows.h"

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

    if (spans == NULL || first < 0 || first >= end ||
        rows_grow(&spans->items, spans->count + 1, &spans->room) != STATUS_OK)
        return;
    span = &spans->items[spans->count++];
    snprintf(span->name, sizeof span->name, "%s", name);
    span->first = first;
    span->end = end;
}
