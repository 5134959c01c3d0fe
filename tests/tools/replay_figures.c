/* How well replays give back traces, a line each: recorded and replayed mean step, and what it
 * would be without the causes that are looked at.
 *
 * usage: replay_figures TRACE... */
#include "harness/desk/analysis/summary.h"
#include "harness/desk/read/reader.h"

#include <stdio.h>

static void no_activity(const void *context, const struct trace_graph *graph, int64_t at,
                        struct graph_node *node)
{
    const enum host_kind *activity = context;
    (void)graph;
    (void)at;

    if (node->stream == GRAPH_NONE && node->kind == *activity && node->after == GRAPH_NONE)
        node->duration_ns = 0;
}

static void no_wait(const void *context, const struct trace_graph *graph, int64_t at,
                    struct graph_node *node)
{
    (void)graph;
    (void)at;
    (void)context;
    if (node->stream == GRAPH_NONE && node->after != GRAPH_NONE) {
        node->after = GRAPH_NONE;
        node->duration_ns = 0;
    }
}

static void no_launch(const void *context, const struct trace_graph *graph, int64_t at,
                      struct graph_node *node)
{
    (void)graph;
    (void)at;
    (void)context;
    if (node->stream == GRAPH_NONE &&
        (node->kind == HOST_OPERATOR || node->kind == HOST_OUTSIDE || node->kind == HOST_LAUNCHING))
        node->duration_ns = 0;
    if (node->stream != GRAPH_NONE && node->call != GRAPH_NONE)
        node->gap_ns /= 2;
}

static void put(struct arena *arena, void *context)
{
    struct summary summary = summary_of(arena, context);
    const struct trace_graph *graph = &summary.graph;
    struct replayed_time same = replay(arena, graph, NULL, 0, NULL);
    double recorded = (double)(graph->end_ns - graph->start_ns);
    double steps = summary.steps.count > 0 ? (double)summary.steps.count : 1;

    printf("recorded %.1f replayed %.4f turn %.4f nodes/events %.2f", recorded / steps / 1e3,
           same.first_ns / recorded, same.turn_ns / recorded,
           (double)graph->count * sizeof *graph->nodes /
               (sizeof(struct trace_event) * (double)summary.trace->event_count));
    for (int i = 0; i < HOST_KIND_COUNT; i++) {
        enum host_kind activity = (enum host_kind)i;
        struct replay_change change = { no_activity, &activity };
        double ratio = same.turn_ns / replay(arena, graph, &change, 1, NULL).turn_ns;
        if (ratio > 1.02)
            printf(" %s %.3f", host_kind_name(activity), ratio);
    }
    struct replay_change wait = { no_wait, NULL }, launch = { no_launch, NULL };
    printf(" waits %.3f", same.turn_ns / replay(arena, graph, &wait, 1, NULL).turn_ns);
    printf(" launches %.3f\n", same.turn_ns / replay(arena, graph, &launch, 1, NULL).turn_ns);
}

int main(int count, char **paths)
{
    for (int i = 1; i < count; i++) {
        struct trace_file *trace = NULL;
        struct arena *arena = arena_open();
        printf("%s ", paths[i]);
        if (trace_file_read(&trace, paths[i], NULL) == STATUS_OK)
            arena_run(arena, put, trace);
        arena_close(arena);
        trace_file_close(trace);
    }
    return 0;
}
