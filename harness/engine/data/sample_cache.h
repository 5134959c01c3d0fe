/* Usable training samples: damaged ones are replaced, and all can be kept in memory.
 *
 * A sample that cannot be loaded is replaced by the next one of the split that can; the first
 * follows the last. The replacement depends only on the files, so it is the same for every thread
 * and with the cache.
 *
 * An experiment opens the same data dozens of times, twice for each pair. So what is decoded stays
 * until other data are opened: a cache belongs to all who have the same files open, by their names
 * and sizes, and the last one is kept. Files that are damaged are not kept so: each who opens them
 * finds the damage. */
#pragma once

#include "harness/engine/data/dataset.h"

/* Loads training sample `index` or its replacement. BAD_INPUT when no sample of the split can be
 * loaded: it says how many were tried and what was wrong with the first. */
enum status sample_load_usable(struct sample_reader *reader, const struct dataset *dataset,
                               uint32_t index, void *input, int32_t *label, int32_t *length,
                               bool *is_replaced);

/* Samples of the training split, as they were loaded. Threads may share it. */
struct sample_cache;

/* It may have samples already. OUT_OF_MEMORY. */
enum status sample_cache_open(struct sample_cache **cache, const struct dataset *dataset);
void sample_cache_close(struct sample_cache *cache); /* NULL is allowed */

/* Loads the whole split. OUT_OF_MEMORY, with the size, when it is larger than this machine's
 * memory. */
enum status sample_cache_fill(struct sample_cache *cache, const struct dataset *dataset);

/* The same as sample_load_usable(), from memory. False: the sample is not there. */
bool sample_cache_get(const struct sample_cache *cache, uint32_t index, void *input, int32_t *label,
                      int32_t *length, bool *is_replaced);

/* Keeps what sample_load_usable() gave, if there is memory. */
void sample_cache_put(struct sample_cache *cache, uint32_t index, const void *input, int32_t label,
                      int32_t length, bool is_replaced);
