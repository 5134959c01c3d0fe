/* Batches that are in memory before the first step: input that costs nothing to get from device
 * memory, and only its copy from host memory. */
#pragma once

#include "harness/engine/data/loader.h"
#include "harness/engine/memory/allocator.h"

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
