/* The data loader: batches in seed order, from no worker or several, with bounded prefetch.
 *
 * With 0 workers loader_next() loads the batch itself. With N workers, N threads load ahead, each
 * of them whole batches as in PyTorch's DataLoader, until workers * prefetch batches are ready or
 * in progress. On a device that shares the host's cores the workers use only the time that is left
 * (gives_way), so that they delay neither the device nor the thread that queues its work. Where
 * other programs leave almost none, new workers that do not give way replace them.
 *
 * With COLLATE_LOOP the workers only read the files of the batches ahead, and loader_next() loads
 * the batch from the host's memory.
 *
 * The batches and their order depend only on the seed, whatever the number of workers: every epoch
 * is a permutation of the training samples, without the incomplete last batch. A run that goes on
 * where another ended enters that order at first_batch. Workers load ahead across the end of an
 * epoch, unless they end with it.
 *
 * A sample that cannot be loaded (its file is damaged or gone) is counted and replaced by the next
 * one that can, the same one for any number of workers. If no sample can be loaded, loader_next()
 * fails. One thread calls the loader; signals are never delivered to the workers. */
#pragma once

#include "harness/engine/data/batch.h"

/* Allocates and frees the memory of batches (pinned or pageable). Called by the thread that calls
 * the loader, never by workers. */
struct batch_memory {
    enum status (*alloc)(void *context, size_t bytes, void **memory);
    void (*free)(void *context, void *memory);
    void *context;
};

struct loader_statistics {
    int64_t batches, samples; /* handed out */
    int64_t damaged;          /* samples replaced */
    int64_t wait_ns; /* of the caller in loader_next(): waiting, restarting threads, and loading
                        with 0 workers, but not allocating batches */
    int64_t epoch_wait_ns; /* its part for the first batch of each epoch */
    int64_t late;          /* batches that were not ready when the caller wanted them */
    int64_t load_ns;       /* summed over threads: reading and decoding */
    int64_t read_ns;       /* its part for the files */
    int64_t reads;         /* of files, or of shards of many samples */
    int64_t threads_started;
    int64_t ready; /* now: loaded and not handed out */
};

struct loader;

/* `dataset` must outlive the loader. Batches are allocated as they are needed, `batches_max` at
 * most, which must be more than workers * prefetch. INPUT_CACHED decodes the whole training split
 * here. */
enum status loader_open(struct loader **loader, const struct dataset *dataset,
                        const struct loader_config *config, int samples, int batches_max,
                        const struct batch_memory *memory);

/* Stops and joins the workers; batches handed out become invalid. NULL is allowed. */
void loader_close(struct loader *loader);

/* Whether all batches of an epoch are handed out. */
bool loader_is_at_border(const struct loader *loader);

/* The call of a loop that asks for one more batch than the epoch has: it waits for the end of
 * workers that end with the epoch. */
void loader_end_epoch(struct loader *loader);

/* The next batch in order. It belongs to the caller until loader_return(). INTERNAL when the caller
 * holds all batches. A worker's error is returned when its batch is due, and again by each later
 * call. */
enum status loader_next(struct loader *loader, const struct batch **batch);
void loader_return(struct loader *loader, const struct batch *batch);

/* Stops the workers and waits until each has finished its current sample. The next loader_next()
 * lets them go on. */
void loader_pause(struct loader *loader);

int64_t loader_batches_per_epoch(const struct loader *loader);
struct loader_statistics loader_statistics(struct loader *loader);
