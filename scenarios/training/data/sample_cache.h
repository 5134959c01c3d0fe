/* Usable training samples: damaged ones are replaced, and all can be kept in memory.
 *
 * A sample that cannot be loaded is replaced by the next one of the split that can; the first follows
 * the last. The replacement depends only on the files, so it is the same for every thread and with the
 * cache. */
#ifndef SCENARIOS_TRAINING_DATA_SAMPLE_CACHE_H
#define SCENARIOS_TRAINING_DATA_SAMPLE_CACHE_H

#include "scenarios/training/data/dataset.h"

/* Loads training sample `index` or its replacement. BAD_INPUT when no sample of the split can be
 * loaded: it says how many were tried and what was wrong with the first. */
enum status sample_load_usable(struct sample_reader *reader, const struct dataset *dataset,
                               uint32_t index, void *input, int32_t *label, int32_t *length,
                               bool *is_replaced);

/* The whole training split, loaded. Read-only once open: threads may share it. */
struct sample_cache;

/* OUT_OF_MEMORY, with the size, when the decoded split is larger than this machine's memory. */
enum status sample_cache_open(struct sample_cache **cache, const struct dataset *dataset);
void sample_cache_close(struct sample_cache *cache); /* NULL is allowed */

/* The same as sample_load_usable(), from memory. */
void sample_cache_get(const struct sample_cache *cache, uint32_t index, void *input, int32_t *label,
                      int32_t *length, bool *is_replaced);

#endif
