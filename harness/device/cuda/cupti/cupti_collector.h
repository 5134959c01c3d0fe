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
