/* Prints what the loader takes per sample, for compare_loaders.py: usage: bench_loader PIXELS SIZE
 * WORKERS BATCHES
 *
 * The files are the generated set of PIXELS by PIXELS, decoded to SIZE by SIZE with the decoder's
 * own scaling, in batches of
 * 64. After 20 batches BATCHES are timed: nanoseconds of all time, and of the process' threads. The
 * second line is the folder of the files. */
#include "harness/base/clock.h"
#include "harness/engine/data/loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64, WARM_UP = 20 };

static enum status alloc_batch(void *context, size_t bytes, void **memory)
{
    (void)context;
    *memory = malloc(bytes);
    if (*memory == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for a batch of %zu bytes", bytes);
    return STATUS_OK;
}

static void free_batch(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static enum status take(struct loader *loader, int batches)
{
    for (int i = 0; i < batches; i++) {
        const struct batch *batch;
        TRY(loader_next(loader, &batch));
        loader_return(loader, batch);
    }
    return STATUS_OK;
}

static enum status time_loader(struct loader *loader, int batches)
{
    int64_t begin_ns, used_ns;

    TRY(take(loader, WARM_UP));
    begin_ns = clock_ns();
    used_ns = clock_process_cpu_ns();
    TRY(take(loader, batches));
    printf("%lld %lld\n", (long long)(clock_ns() - begin_ns) / (batches * BATCH),
           (long long)(clock_process_cpu_ns() - used_ns) / (batches * BATCH));
    return STATUS_OK;
}

/* Classes are folders within the set's. */
static void print_folder(const struct dataset *dataset)
{
    int32_t label;
    const char *path = dataset_file(dataset, SPLIT_TRAIN, 0, &label), *end = strrchr(path, '/');

    while (end[-1] != '/') end--;
    printf("%.*s\n", (int)(end - path), path);
}

static enum status run(int pixels, int size, int workers, int batches)
{
    enum status status = STATUS_OK;
    const struct dataset_config data = {
        .kind = DATA_IMAGES, .image_size = size, .jpeg_pixels = pixels, .scales = true
    };
    const struct loader_config config = { .input = INPUT_DECODED,
                                          .workers = workers,
                                          .prefetch = 2,
                                          .persistent_workers = true,
                                          .seed = 1 };
    const struct batch_memory memory = { alloc_batch, free_batch, NULL };
    struct dataset *dataset = NULL;
    struct loader *loader = NULL;

    TRY_OUT(dataset_open(&dataset, &data));
    TRY_OUT(loader_open(&loader, dataset, &config, BATCH, workers * config.prefetch + 2, &memory));
    TRY_OUT(time_loader(loader, batches));
    print_folder(dataset);

out:
    loader_close(loader);
    dataset_close(dataset);
    return status;
}

int main(int count, char **words)
{
    if (count != 5) {
        fprintf(stderr, "usage: bench_loader PIXELS SIZE WORKERS BATCHES\n");
        return 2;
    }
    if (run(atoi(words[1]), atoi(words[2]), atoi(words[3]), atoi(words[4])) != STATUS_OK) {
        fprintf(stderr, "%s\n", status_last()->text);
        return 1;
    }
    return 0;
}
