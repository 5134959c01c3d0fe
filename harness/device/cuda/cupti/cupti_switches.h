/* Ways in which CUPTI may record, for one to try where its cost matters: CHOKEPOINT_CUPTI is a list
 * of them, "driver=0,buffers=16". Their costs have to be measured on a GPU (scripts/gpu_check.py
 * does), so all of them are as they were until one has.
 *
 * There is none for the pools of semaphores: CUPTI has not used them since CUDA 12.3
 * (cupti_activity.h). */
#pragma once

#include "harness/base/status.h"

/* name, what it is where it is not given, its most (docs/devices.md has the same rows):
 *
 * - driver 0: no calls of the driver's API. A kernel that a library launches by it has no call
 * then.
 * - nodes 0: a launch of a graph is one record (cupti_graphs.h).
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
