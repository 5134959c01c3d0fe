/* Batches that are in device memory before the first step: input that costs nothing to get. */
#ifndef SCENARIOS_TRAINING_STEP_RESIDENT_H
#define SCENARIOS_TRAINING_STEP_RESIDENT_H

#include "scenarios/training/data/loader.h"
#include "scenarios/training/memory/allocator.h"

struct resident;

/* How many batches are kept: an epoch, but at most RESIDENT_BATCHES and RESIDENT_BYTES; at
 * least one. */
int resident_count(const struct batch_layout *layout, int64_t batches_per_epoch);

/* Loads the first resident_count() batches of the loader's order. */
enum status resident_open(struct resident **resident, struct loader *loader,
                          const struct batch_layout *layout, struct allocator *allocator,
                          struct stream *stream);
void resident_close(struct resident *resident); /* NULL is allowed */

/* Device memory of the batch of step `step`; after the last batch the first one follows. */
const void *resident_batch(const struct resident *resident, int64_t step);

/* The lengths of its samples, in host memory. */
const int32_t *resident_lengths(const struct resident *resident, int64_t step);

#endif
