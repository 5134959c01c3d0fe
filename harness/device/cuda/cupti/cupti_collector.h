/* Records the activity of the GPU and its driver in this process, by CUPTI, for the sink of one
 * device: kernels (also those of graphs, node by node), copies, memsets, memory, waits, the calls
 * that caused them, and the cost of recording.
 *
 * Start it before the device's context is made, where that is possible: memory that existed earlier
 * has no record. Records wait in CUPTI's buffers until they are flushed, and are translated then,
 * so that a traced window bears no more than CUPTI's own work. */
#pragma once

#include "harness/base/status.h"
#include "harness/device/types/activity.h"

#include <driver_types.h>

/* For the device of that number, which is `gpu`; nothing is handed over before
 * cupti_collector_show(). Names in records live until the stop. NO_LIBRARY says why nothing can be
 * traced, BAD_USAGE that another device is being traced; then nothing is left running. */
enum status cupti_collector_start(int device, const struct cudaDeviceProp *gpu);

/* Drops what was recorded since the start and hands over to `sink` from now on: the device's own
 * work while it opens (it measures launches, for one) is no part of a record. Call it when that
 * work is done. The errors are those of a flush. */
enum status cupti_collector_show(struct activity_sink sink);

/* Hands all records to the sink; device work that is not done leaves incomplete ones, which count
 * as dropped. Tells the sink how many were dropped since the last flush: those that CUPTI had no
 * buffer for, those without a time, and one for each buffer that ends in the middle of a record.
 * NO_LIBRARY where CUPTI refuses, DEVICE_ERROR where it has given up. */
enum status cupti_collector_flush(void);

/* A call of NCCL's that has returned, so that the next flush tells which message its kernel has.
 * `name` lives at least as long as the device. */
struct cupti_message;
void cupti_collector_note(const struct cupti_message *message);

/* Whether the GPU's counters are to be read, too. */
bool cupti_collector_counts(void);

/* Records nothing from now on; what was handed over stays as it is. */
void cupti_collector_pause(void);

/* Drops records that were not flushed. Does nothing without a start. */
void cupti_collector_stop(void);

/* Graphs whose launches CUPTI records as one piece each. A record per node costs a launch-bound
 * step much of its time; a record per launch costs next to nothing and tells no kernel. So the
 * nodes are recorded of a launch in the steps before, and fitted into the time of those launches
 * that are recorded as a whole. */
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

/* Ways in which CUPTI may record, for one to try where its cost matters: CHOKEPOINT_CUPTI is a list
 * of them, "driver=0,buffers=16". Their costs have to be measured on a GPU (scripts/gpu_check.py
 * does), so all of them are as they were until one has.
 *
 * There is none for the pools of semaphores: CUPTI has not used them since CUDA 12.3
 * (cupti_activity.h). */

/* name, what it is where it is not given, its most (docs/devices.md has the same rows):
 *
 * - driver 0: no calls of the driver's API. A kernel that a library launches by it has no call
 * then.
 * - nodes 0: a launch of a graph is one record.
 * - buffers: so many of 4 MiB are made and zeroed at the start, and CUPTI zeroes none while the
 *   program runs.
 * - device_buffers: so many that keep times, 3.2 MB each, are made on the GPU with the context.
 * - counters 1: one more window of steps, whose GPU counters are read (pm_sampling.h). */
#define CUPTI_SWITCHES(X)                                                                          \
    X(driver, 1, 1)                                                                                \
    X(nodes, 1, 1)                                                                                 \
    X(buffers, 0, 256)                                                                             \
    X(device_buffers, 3, 64)                                                                       \
    X(counters, 0, 1)

struct cupti_switches {
#define CUPTI_SWITCH(name, otherwise, most) int name;
    CUPTI_SWITCHES(CUPTI_SWITCH)
#undef CUPTI_SWITCH
};
extern const struct cupti_switches cupti_switches_otherwise; /* where none is given */

/* `text` may be NULL. BAD_USAGE lists the names. */
enum status cupti_switches_read(struct cupti_switches *switches, const char *text);
