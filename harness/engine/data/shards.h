/* Shards: the files of many samples one behind the other, as in WebDataset's tar files, TFRecords
 * or Parquet. A shard is read whole, at once, and its samples wait in memory until each has been
 * used once: a buffer to shuffle in, as large as an epoch if samples come in random order.
 *
 * All shards of a set are one file without a name, in the folder of the set. */
#pragma once

#include "harness/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHARD_SAMPLES = 128 };

struct shards;

/* An empty set of `count` samples in `folder`. `drops_cache`: the pages of a shard leave the host's
 * memory before it is read. IO. */
enum status shards_open(struct shards **shards, const char *folder, uint32_t count,
                        bool drops_cache);
void shards_close(struct shards *shards); /* NULL is allowed */

/* Adds the next sample's file. IO. */
enum status shards_add(struct shards *shards, const void *bytes, size_t size);

/* To be called when all have been added: pages that are not on the disk yet cannot be dropped. */
enum status shards_finish(struct shards *shards);

/* From here on by any thread. */
size_t shards_size(const struct shards *shards, uint32_t index); /* of a sample's file, in bytes */

/* Copies a sample's file to `bytes`; *reads: whether its shard had to be read. IO,
 * OUT_OF_MEMORY. */
enum status shards_take(struct shards *shards, uint32_t index, void *bytes, bool *reads);
