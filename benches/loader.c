/* How many samples the data loader gives per second, by its workers and how far each loads ahead (N
 * batches): from JPEG files on disk to a batch in memory, with nothing else to do.
 *
 * An iteration takes a batch and gives it back, so the loader is what is waited for. The files are
 * the generated set of the balanced model's default, made once in the cache folder; after the first
 * pass they come from the page cache, so this is decoding, not the disk. */
#include "harness/engine/data/loader.h"
#include "harness/base/rows.h"
#include "harness/bench/bench.h"

#include <stdlib.h>
#include <string.h>

enum { IMAGE_SIZE = 32, JPEG_PIXELS = 64, BATCH = 16 };

struct own {
    struct dataset *dataset;
    struct loader *loader;
};

static enum status loader_run(struct bench_work *work, int64_t iterations)
{
    struct own *own = work->own;

    for (int64_t i = 0; i < iterations && !*work->stop; i++) {
        const struct batch *batch;
        TRY(loader_next(own->loader, &batch));
        loader_return(own->loader, batch);
    }

    return STATUS_OK;
}

static enum status alloc_batch(void *context, size_t bytes, void **memory)
{
    return host_alloc(context, true, bytes, memory);
}

static void free_batch(void *context, void *memory)
{
    host_free(context, true, memory);
}

/* Whether some sample of the training split is this one. */
static enum status find_sample(struct own *own, const void *input, int32_t label)
{
    enum status status = STATUS_OK;
    size_t bytes = dataset_sample_bytes(own->dataset);
    struct sample_reader *reader = NULL;
    char *loaded = NULL;
    bool is_found = false;

    TRY_OUT(rows_make(&loaded, bytes));
    TRY_OUT(sample_reader_open(&reader, own->dataset));
    for (uint32_t i = 0; !is_found && i < dataset_count(own->dataset, SPLIT_TRAIN); i++) {
        int32_t its_label, length;
        TRY_OUT(sample_load(reader, SPLIT_TRAIN, i, loaded, &its_label, &length));
        is_found = its_label == label && memcmp(loaded, input, bytes) == 0;
    }
    if (!is_found)
        FAIL_OUT(STATUS_INTERNAL, "the loader gave a sample that is not in its data set");

out:
    sample_reader_close(reader);
    free(loaded);
    return status;
}

/* The first batch and the last sample of it. */
static enum status loader_check(struct own *own)
{
    enum status status = STATUS_OK;
    struct batch_layout layout = batch_layout(own->dataset, &(struct batching_config){ 0 }, BATCH);
    const struct batch *batch = NULL;
    const unsigned char *memory;
    const int32_t *labels;

    TRY_OUT(loader_next(own->loader, &batch));
    memory = batch->memory;
    labels = (const int32_t *)(const void *)(memory + layout.labels_offset);
    TRY_OUT(find_sample(own, memory, labels[0]));
    TRY_OUT(find_sample(own, memory + (BATCH - 1) * layout.sample_bytes, labels[BATCH - 1]));

out:
    if (batch != NULL)
        loader_return(own->loader, batch);
    return status;
}

static enum status loader_set_up(struct bench_work *work)
{
    struct own *own = work->own;
    const struct dataset_config data = { .kind = DATA_IMAGES,
                                         .image_size = IMAGE_SIZE,
                                         .jpeg_pixels = JPEG_PIXELS };
    const struct loader_config config = { .input = INPUT_DECODED,
                                          .workers = work->bench->variant,
                                          .prefetch = work->argument > 0 ? (int)work->argument : 1,
                                          .persistent_workers = true,
                                          .seed = random_bits(&work->random) };
    const struct batch_memory memory = { alloc_batch, free_batch, work->device };

    TRY(dataset_open(&own->dataset, &data));
    /* Two batches to spare, as in a training (engine/step/training.c). */
    TRY(loader_open(&own->loader, own->dataset, &config, BATCH,
                    config.workers * config.prefetch + 2, &memory));
    TRY(loader_check(own));
    work->items = BATCH;

    return STATUS_OK;
}

static void loader_tear_down(struct bench_work *work)
{
    struct own *own = work->own;

    loader_close(own->loader);
    dataset_close(own->dataset);
}

/* More would only take turns. */
static const char *lack_cores(const struct bench *bench, const struct device_properties *device)
{
    return bench->variant <= 2 * device->host_cores ? NULL : "more than two workers per core";
}

#define LOADER(workers, text_, ...)                                                                \
    const struct bench bench_loader_workers_##workers = { .name = "loader_workers_" #workers,      \
                                                          .text = text_,                           \
                                                          .variant = workers,                      \
                                                          .own_bytes = sizeof(struct own),         \
                                                          .lack = lack_cores,                      \
                                                          .set_up = loader_set_up,                 \
                                                          .run = loader_run,                       \
                                                          .tear_down = loader_tear_down,           \
                                                          __VA_ARGS__ }

LOADER(0, "a batch of 16 JPEG files loaded by the caller; items are samples", .arguments = { 0 });
LOADER(1, "a batch of 16 JPEG files from 1 worker, N batches ahead", .arguments = { 1, 2, 4 });
LOADER(2, "a batch of 16 JPEG files from 2 workers, N batches ahead each",
       .arguments = { 1, 2, 4 });
LOADER(4, "a batch of 16 JPEG files from 4 workers, N batches ahead each",
       .arguments = { 1, 2, 4 });
LOADER(16, "a batch of 16 JPEG files from 16 workers, N batches ahead each",
       .arguments = { 1, 2, 4 });
