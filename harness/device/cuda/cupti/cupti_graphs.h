/* Graphs whose launches CUPTI records as one piece each. A record per node costs a launch-bound
 * step much of its time; a record per launch costs next to nothing and tells no kernel. So the
 * nodes are recorded of a launch in the steps before, and fitted into the time of those launches
 * that are recorded as a whole. */
#pragma once

#include "harness/base/status.h"
#include "harness/device/types/activity.h"

struct cupti_graph;

/* Begin with zeros. */
struct cupti_graphs {
    struct cupti_graph *items;
    int64_t count, room;
};

/* A row of a node. Those of the graph's last launch are kept. OUT_OF_MEMORY. */
enum status cupti_graphs_note(struct cupti_graphs *graphs, const struct activity *node);

/* Hands the nodes' rows to `sink` as those of this launch: their times stand to each other as they
 * did, and fill the launch's. Their `fitted` is set. False: no launch with nodes was recorded. */
bool cupti_graphs_show(const struct cupti_graphs *graphs, const struct activity *launch,
                       const struct activity_sink *sink);

void cupti_graphs_release(struct cupti_graphs *graphs);
