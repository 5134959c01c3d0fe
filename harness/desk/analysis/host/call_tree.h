/* The calls of the loop's thread as a tree: calls of the same function from the same line of the
 * same call are one node. They are Python's, if the trace has them (with_stack=True); else
 * annotations and operators take their place. */
#pragma once

#include "harness/base/system/triple_table.h"
#include "harness/desk/analysis/host/host_activity.h"
#include "harness/desk/analysis/names/frame_name.h"
#include "harness/desk/analysis/timeline/timeline.h"

enum { CALL_ROOT = 0, CALL_DEPTH = 1024 /* deeper calls are left out */ };

struct call_node {
    uint32_t parent;        /* CALL_ROOT: nothing is around it; the root is no call */
    uint32_t name, from;    /* trace_file_name(); from: the line that called it, 0, "": unknown */
    enum frame_owner owner; /* the user's are annotations and outermost operators, too */
    bool is_operator;
    bool is_iterated; /* what the loop iterates over, or called by that (FRAME_ITERATORS_KEY) */
    int64_t total_ns; /* within the window */
};

struct call_tree {
    const struct trace_file *trace;
    bool is_python;
    const char *own, *iterators; /* FRAME_OWN_KEY, FRAME_ITERATORS_KEY; NULL: not stated */
    int64_t start_ns, end_ns;    /* the window */

    const struct event_frame *frames; /* if it is Python's */
    const struct trace_event *const *host;
    int64_t call_count;
    uint32_t *node_of; /* by call; CALL_ROOT: left out */

    struct call_node *nodes;
    uint32_t node_count;
    int64_t node_room;
};

/* Totals are of the time between the two moments. The timeline must live longer. */
struct call_tree call_tree_of(struct arena *arena, const struct timeline *timeline,
                              const struct host_activity *activity, int64_t start_ns,
                              int64_t end_ns);

/* Time in which a node's call ran itself: not what it called. */
struct call_segment {
    int64_t start_ns, end_ns;
    uint32_t node;
    uint32_t after,
        before; /* `from` of the calls that it made before and after; 0: none, or unknown */
};

/* Returns the moment from which on more is to be shown; INT64_MAX: nothing more. */
typedef int64_t call_segment_visit(void *context, const struct call_segment *segment);

/* Visits all such time from `from_ns` and from the moments on that the visit returns, in order, and
 * perhaps some of the time between. */
void call_tree_visit(const struct call_tree *tree, int64_t from_ns, call_segment_visit *visit,
                     void *context);
