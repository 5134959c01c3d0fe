/* The operators and phases that a captured graph is made of, by their nodes: what a launch of the
 * graph runs, though the host calls none of them any more. Noted at the capture, whether somebody
 * records or not. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct graph_span {
    char name[64];  /* "block0.qkv backward", "forward" */
    int first, end; /* its nodes, in the order of the capture; `end` is the first that is not */
};

/* Start with zeros. */
struct graph_spans {
    struct graph_span *items; /* an inner one before the one around it */
    int count;
    int64_t room;
};

void graph_spans_release(struct graph_spans *spans);

/* Leaves out what has no node, or where the device does not say (first < 0); so does a lack of
 * memory. `spans` NULL: nothing is captured. */
void graph_spans_add(struct graph_spans *spans, const char *name, int first, int end);
