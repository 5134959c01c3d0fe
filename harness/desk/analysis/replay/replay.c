/* Nodes are in an order in which each comes after all that it waits for, so an iteration is one
 * pass over them. The second one starts from where the first left every stream. */
#include "harness/desk/analysis/replay/replay.h"

#include <math.h>

struct replaying {
    const struct trace_graph *graph;
    double *ends_ns;   /* by node, of this iteration */
    double *starts_ns; /* likewise, of pieces of the host */
    /* by stream: when its last work so far ended; before it had any, -INFINITY */
    double *streams_ns;
    double host_ns;
    struct intervals *busy; /* NULL: nobody asks, or it is the first iteration */
};

/* fmax() would be a call. No time is NaN. */
static double later(double a_ns, double b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

static double after_ns(const struct replaying *now, const struct graph_node *node)
{
    return node->after != GRAPH_NONE ? now->ends_ns[node->after] + (double)node->lag_ns : -INFINITY;
}

static void run_work(struct replaying *now, const struct graph_node *node, int64_t at)
{
    double *stream_ns = &now->streams_ns[node->stream];
    double start_ns = later(*stream_ns + (double)node->gap_ns, after_ns(now, node));

    if (node->call != GRAPH_NONE)
        start_ns = later(start_ns, later(now->starts_ns[node->call],
                                         now->ends_ns[node->call] + (double)node->latency_ns));
    else if (isinf(start_ns))
        start_ns = (double)(node->at_ns - now->graph->start_ns);
    now->ends_ns[at] = *stream_ns = start_ns + (double)node->duration_ns;
    if (now->busy != NULL)
        intervals_add(now->busy, llround(start_ns), llround(*stream_ns));
}

static double end_of(const struct replaying *now)
{
    double end_ns = now->host_ns;

    for (int i = 0; i <= now->graph->stream_count; i++) end_ns = later(end_ns, now->streams_ns[i]);
    return end_ns;
}

static void replay_iteration(struct replaying *now, const struct replay_change *changes, int count,
                             bool first)
{
    const struct trace_graph *graph = now->graph;

    for (int64_t i = 0; i < graph->count; i++) {
        struct graph_node node = graph->nodes[i];
        if (node.is_first_iteration && !first)
            continue;
        for (int change = 0; change < count; change++)
            changes[change].alter(changes[change].context, graph, i, &node);
        if (node.stream == GRAPH_NONE) {
            now->starts_ns[i] = later(now->host_ns, after_ns(now, &node));
            now->host_ns = now->ends_ns[i] = now->starts_ns[i] + (double)node.duration_ns;
        } else {
            run_work(now, &node, i);
        }
    }
}

struct replayed_time replay(struct arena *arena, const struct trace_graph *graph,
                            const struct replay_change *changes, int count, struct intervals *busy)
{
    SCRATCH_ARENA(scratch, arena);
    struct replaying now = { .graph = graph,
                             .ends_ns = ARENA_NEW(scratch, double, graph->count),
                             .starts_ns = ARENA_NEW(scratch, double, graph->count),
                             .streams_ns = ARENA_NEW(scratch, double, graph->stream_count + 1) };
    struct replayed_time time;

    for (int i = 0; i <= graph->stream_count; i++) now.streams_ns[i] = -INFINITY;
    replay_iteration(&now, changes, count, true);
    time.first_ns = end_of(&now);
    now.busy = busy;
    replay_iteration(&now, changes, count, false);
    time.turn_ns = end_of(&now) - time.first_ns;
    return time;
}
