/* The time that a step would take if something in it were different.
 *
 * A replay computes when each node of a graph would begin, and ends, from what it waits for.
 * Changes may alter nodes before: take time from them, or what they wait for. The window stands for
 * some iterations of a loop, so it is replayed twice in a row, and the second iteration counts: it
 * begins with what the first one left on the device, and the time that a change lets the host get
 * ahead is there. */
#pragma once

#include "harness/desk/analysis/replay/graph.h"

/* Alters a copy of the node number `at`, in the order of the graph. Work may move to the stream
 * that is called graph->stream_count, which is empty. */
typedef void replay_alter(const void *context, const struct trace_graph *graph, int64_t at,
                          struct graph_node *node);

struct replay_change {
    replay_alter *alter;
    const void *context;
};

struct replayed_time {
    double first_ns; /* of the first iteration; without changes, the window's own time */
    double turn_ns;  /* of the second */
};

/* `changes` apply one after the other. The device's work in the second iteration is added to
 * `busy`, which is not merged yet; NULL: nobody asks. */
struct replayed_time replay(struct arena *arena, const struct trace_graph *graph,
                            const struct replay_change *changes, int count, struct intervals *busy);
