/* The data loader: batches in seed order, from no worker or several, with bounded prefetch.
 *
 * With 0 workers loader_next() itself loads the batch. With N workers, N threads load ahead, whole
 * batches each as PyTorch's DataLoader does, until workers * prefetch batches are ready or under way.
 * On a device that shares the host's cores they take what time is left (gives_way), so that they hold up
 * neither the device nor the thread that queues its work. Where other programs leave next to none, new
 * workers that no longer give way take their places.
 * The batches and their order depend on the seed alone, whatever the number of workers: epoch e runs
 * through a permutation of the training samples and drops the incomplete last batch. Workers load
 * ahead across the end of an epoch, unless they end with it.
 *
 * A sample that cannot be loaded (a damaged file, or one that is gone) is counted and replaced by the
 * next one of the set that can, the same one whatever the workers; when none can be, that is an error
 * of loader_next(). One thread calls the loader; signals are never delivered to the workers. */
#ifndef SCENARIOS_TRAINING_DATA_LOADER_H
#define SCENARIOS_TRAINING_DATA_LOADER_H

#include "scenarios/training/data/dataset.h"

/* A batch is one piece of host memory, so that one copy moves it. Offsets are multiples of 256. */
struct batch_layout {
    int samples;
    size_t sample_bytes;   /* of one sample's input */
    size_t labels_offset;  /* int32 [samples] */
    size_t lengths_offset; /* int32 [samples]; 0 for images */
    size_t bytes;          /* of the whole */
};
struct batch_layout batch_layout(const struct dataset *dataset, int samples);

/* Tokens of a batch that carry data: the sum of its lengths; 0 for images. */
int64_t batch_tokens(const struct batch_layout *layout, const void *memory);

struct batch {
    void *memory; /* laid out as above; inputs at offset 0 */
    int64_t index;
};

/* Where batches live (pinned or pageable memory of a device). Called by the thread that calls the
 * loader, never by workers. */
struct batch_memory {
    enum status (*alloc)(void *context, size_t bytes, void **memory);
    void (*free)(void *context, void *memory);
    void *context;
};

struct loader_statistics {
    int64_t batches, samples; /* handed out */
    int64_t damaged;          /* samples replaced */
    int64_t wait_ns; /* of the caller in loader_next(): waiting, starting threads anew, and loading
                        with 0 workers; not allocating batches */
    int64_t load_ns; /* summed over threads: reading and decoding */
    int64_t threads_started;
};

struct loader;

/* `dataset` must outlive the loader. At most `batches_max` batches are allocated, as they are needed;
 * it must be more than workers * prefetch. INPUT_CACHED decodes the whole training split here. */
enum status loader_open(struct loader **loader, const struct dataset *dataset,
                        const struct loader_config *config, int samples, int batches_max,
                        const struct batch_memory *memory);

/* Stops and joins the workers; batches handed out become invalid. NULL is allowed. */
void loader_close(struct loader *loader);

/* The next batch in order. It belongs to the caller until loader_return(). INTERNAL when the caller
 * keeps so many that none is left; the error of a worker comes back here when its batch is due, and
 * again at each further call. */
enum status loader_next(struct loader *loader, const struct batch **batch);
void loader_return(struct loader *loader, const struct batch *batch);

/* The workers stop, after the sample they are at, which is waited for, and go on with the next
 * loader_next(). */
void loader_pause(struct loader *loader);

int64_t loader_batches_per_epoch(const struct loader *loader);
struct loader_statistics loader_statistics(struct loader *loader);

#endif
