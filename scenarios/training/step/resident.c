#include "scenarios/training/step/resident.h"

#include <stdlib.h>
#include <string.h>

struct resident {
    struct allocator *allocator;
    void *batches;
    size_t bytes; /* of a batch */
    int64_t count;
    int samples;      /* of a batch */
    int32_t *lengths; /* [count * samples] */
};

int resident_count(const struct batch_layout *layout, int64_t batches_per_epoch)
{
    int64_t fit = RESIDENT_BYTES / (int64_t)layout->bytes;
    int64_t most = fit < RESIDENT_BATCHES ? fit : RESIDENT_BATCHES;
    int64_t count = most < batches_per_epoch ? most : batches_per_epoch;

    return (int)(count < 1 ? 1 : count);
}

enum status resident_open(struct resident **opened, struct loader *loader,
                          const struct batch_layout *layout, struct allocator *allocator,
                          struct stream *stream)
{
    enum status status = STATUS_OK;
    struct resident *resident = calloc(1, sizeof *resident);

    *opened = NULL;
    if (resident == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for the resident batches");
    resident->allocator = allocator;
    resident->bytes = layout->bytes;
    resident->count = resident_count(layout, loader_batches_per_epoch(loader));
    resident->samples = layout->samples;
    resident->lengths = calloc((size_t)(resident->count * layout->samples), sizeof(int32_t));
    if (resident->lengths == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %lld resident batches",
             (long long)resident->count);
    TRY(allocator_alloc(allocator, MEMORY_INPUT, (size_t)resident->count * resident->bytes,
                        &resident->batches));
    for (int64_t i = 0; i < resident->count; i++) {
        const struct batch *batch;
        TRY(loader_next(loader, &batch));
        memcpy(resident->lengths + i * layout->samples, batch_lengths(layout, batch->memory),
               (size_t)layout->samples * sizeof(int32_t));
        status = device_copy(stream, COPY_HOST_TO_DEVICE,
                             (char *)resident->batches + (size_t)i * resident->bytes, batch->memory,
                             resident->bytes);
        /* From pinned memory the copy is done; from pageable memory it is staged. */
        loader_return(loader, batch);
        TRY(status);
    }
    *opened = resident;
    resident = NULL;

out:
    resident_close(resident);
    return status;
}

void resident_close(struct resident *resident)
{
    if (resident == NULL)
        return;
    allocator_free(resident->allocator, resident->batches);
    free(resident->lengths);
    free(resident);
}

const void *resident_batch(const struct resident *resident, int64_t step)
{
    return (const char *)resident->batches + (size_t)(step % resident->count) * resident->bytes;
}

const int32_t *resident_lengths(const struct resident *resident, int64_t step)
{
    return resident->lengths + step % resident->count * resident->samples;
}
