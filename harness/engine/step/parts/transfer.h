/* From a batch in host memory to the step's input in device memory.
 *
 * The input has one address for the whole run, or two that take turns where copies overlap with
 * compute: one is filled while the step reads the other. A captured graph freezes its arguments, so
 * there is a graph for each. A batch's host memory goes back to the loader when its copy is done.
 * The host waits for the oldest copy only when `batches_in_flight` of them are in progress. */
#pragma once

#include "harness/device/device.h"
#include "harness/engine/data/loader.h"
#include "harness/engine/memory/allocator.h"

struct transfer;

enum { TRANSFER_INPUTS = 2 };

/* Batches to device memory from `allocator`, in order with `compute`: from host memory, or all from
 * device memory. The loader gets its batches back; NULL where they are none of a loader's. */
enum status transfer_open(struct transfer **transfer, const struct transfer_config *config,
                          struct stream *compute, struct allocator *allocator,
                          const struct batch_layout *layout, bool from_host, struct loader *loader);

/* Waits for the copies in progress and returns their batches. NULL is allowed. */
void transfer_close(struct transfer *transfer);

/* The input of the step under way: `layout->bytes` of device memory, and which of the inputs it
 * is. */
void *transfer_input(const struct transfer *transfer);
int transfer_input_number(const struct transfer *transfer);

/* Gives batches whose copies are done back to the loader; waits for one when too many are not done.
 * Call it before taking the loader's next batch. */
enum status transfer_reclaim(struct transfer *transfer);

/* Queues the copy of the batch to the input, after the work of earlier steps that reads the
 * input. */
enum status transfer_batch(struct transfer *transfer, const struct batch *batch);

/* To be called once all of the step's work that reads the input is queued. */
enum status transfer_consumed(struct transfer *transfer);

/* As transfer_batch(), from device memory. */
enum status transfer_resident(struct transfer *transfer, const void *batch);

/* Batches that are in memory before the first step: input that costs nothing to get from device
 * memory, and only its copy from host memory. */
struct resident;

/* How many batches are kept: an epoch, but at most RESIDENT_BATCHES, and RESIDENT_BYTES on all
 * ranks together; at least one. Wide pixels count as bytes, so that both kinds train on as many. */
int resident_count(const struct batch_layout *layout, int64_t batches_per_epoch);

enum residence { RESIDENT_ON_DEVICE, RESIDENT_PINNED, RESIDENT_PAGEABLE };

/* Loads the first resident_count() batches of the loader's order. */
enum status resident_open(struct resident **resident, struct loader *loader,
                          const struct batch_layout *layout, struct allocator *allocator,
                          struct stream *stream, enum residence residence);
void resident_close(struct resident *resident); /* NULL is allowed */

/* The batch of step `step`; after the last batch the first one follows. */
const struct batch *resident_batch(const struct resident *resident, int64_t step);

/* The lengths of its samples, in host memory. */
const int32_t *resident_lengths(const struct resident *resident, int64_t step);
