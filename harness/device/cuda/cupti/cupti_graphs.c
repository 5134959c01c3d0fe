/* A graph keeps the rows of the launch with the highest correlation, which is the last one. */
#include "harness/device/cuda/cupti/cupti_collector.h"

#include "harness/base/rows.h"

#include <stdlib.h>

struct cupti_graph {
    uint32_t id, correlation; /* of the launch whose nodes these are */
    struct activity *nodes;
    int64_t count, room;
};

static struct cupti_graph *find_graph(const struct cupti_graphs *graphs, uint32_t id)
{
    for (int64_t i = graphs->count; i-- > 0;)
        if (graphs->items[i].id == id)
            return &graphs->items[i];
    return NULL;
}

enum status cupti_graphs_note(struct cupti_graphs *graphs, const struct activity *node)
{
    struct cupti_graph *graph = find_graph(graphs, node->graph);

    if (graph == NULL) {
        TRY(rows_grow(&graphs->items, graphs->count + 1, &graphs->room));
        graph = &graphs->items[graphs->count++];
        *graph = (struct cupti_graph){ .id = node->graph };
    }
    /* Rows of an earlier launch may come late: buffers are not in the order of time. */
    if (node->correlation < graph->correlation)
        return STATUS_OK;
    if (node->correlation > graph->correlation)
        graph->count = 0;
    graph->correlation = node->correlation;
    TRY(rows_grow(&graph->nodes, graph->count + 1, &graph->room));
    graph->nodes[graph->count++] = *node;

    return STATUS_OK;
}

bool cupti_graphs_show(const struct cupti_graphs *graphs, const struct activity *launch,
                       const struct activity_sink *sink)
{
    const struct cupti_graph *graph = find_graph(graphs, launch->graph);
    int64_t start_ns = INT64_MAX, end_ns = INT64_MIN;
    double scale;

    if (graph == NULL || graph->count == 0)
        return false;
    for (int64_t i = 0; i < graph->count; i++) {
        start_ns = graph->nodes[i].start_ns < start_ns ? graph->nodes[i].start_ns : start_ns;
        end_ns = graph->nodes[i].end_ns > end_ns ? graph->nodes[i].end_ns : end_ns;
    }
    scale = end_ns > start_ns
                ? (double)(launch->end_ns - launch->start_ns) / (double)(end_ns - start_ns)
                : 0;
    for (int64_t i = 0; i < graph->count; i++) {
        struct activity node = graph->nodes[i];
        node.start_ns = launch->start_ns + (int64_t)(scale * (double)(node.start_ns - start_ns));
        node.end_ns = launch->start_ns + (int64_t)(scale * (double)(node.end_ns - start_ns));
        node.correlation = launch->correlation;
        node.fitted = true;
        if (sink->record != NULL)
            sink->record(sink->context, &node);
    }
    return true;
}

void cupti_graphs_release(struct cupti_graphs *graphs)
{
    for (int64_t i = 0; i < graphs->count; i++) free(graphs->items[i].nodes);
    free(graphs->items);
    *graphs = (struct cupti_graphs){ 0 };
}
