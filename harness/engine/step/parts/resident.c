/* Batches that are in memory before the first step. One block of memory for all batches. The loader
 * fills its own memory, from which each batch is copied once. */
#include "harness/engine/step/parts/transfer.h"

#include "harness/base/rows.h"
#include "harness/device/many_ranks.h"

#include <stdlib.h>
#include <string.h>

struct resident {
    struct allocator *allocator;
    struct device *device;
    enum residence residence;
    void *memory;
    struct batch *batches; /* [count] */
    int64_t count;
    int samples;      /* of a batch */
    int32_t *lengths; /* [count * samples] */
};

int resident_count(const struct batch_layout *layout, int64_t batches_per_epoch)
{
    /* Pixels of four bytes count as those of one, so that both keep the same batches. */
    size_t bytes = layout->bytes / (layout->wide_pixels ? sizeof(float) : 1);
    int64_t fit = RESIDENT_BYTES / ((int64_t)bytes * ranks_count());
    int64_t most = fit < RESIDENT_BATCHES ? fit : RESIDENT_BATCHES;
    int64_t count = most < batches_per_epoch ? most : batches_per_epoch;

    return (int)(count < 1 ? 1 : count);
}

/* Takes the loader's next batch as batch `i`. */
static enum status take_batch(struct resident *resident, struct loader *loader,
                              const struct batch_layout *layout, struct stream *stream, int64_t i)
{
    void *to = (char *)resident->memory + (size_t)i * layout->bytes;
    const struct batch *batch;
    enum status status = STATUS_OK;

    TRY(loader_next(loader, &batch));
    resident->batches[i] = (struct batch){ .memory = to, .index = i };
    memcpy(resident->lengths + i * layout->samples, batch_lengths(layout, batch->memory),
           (size_t)layout->samples * sizeof(int32_t));
    if (resident->residence == RESIDENT_ON_DEVICE)
        status = device_copy(stream, COPY_HOST_TO_DEVICE, to, batch->memory, layout->bytes);
    else
        memcpy(to, batch->memory, layout->bytes);
    /* From pinned memory the copy is done; from pageable memory it is staged. */
    loader_return(loader, batch);
    return status;
}

enum status resident_open(struct resident **opened, struct loader *loader,
                          const struct batch_layout *layout, struct allocator *allocator,
                          struct stream *stream, enum residence residence)
{
    enum status status = STATUS_OK;
    struct resident *resident;
    size_t bytes;

    *opened = NULL;
    TRY_OUT(rows_make(&resident, 1));
    resident->allocator = allocator;
    resident->device = stream_device(stream);
    resident->residence = residence;
    resident->count = resident_count(layout, loader_batches_per_epoch(loader));
    resident->samples = layout->samples;
    TRY_OUT(rows_make(&resident->lengths, resident->count * layout->samples));
    TRY_OUT(rows_make(&resident->batches, resident->count));
    bytes = (size_t)resident->count * layout->bytes;
    if (residence == RESIDENT_ON_DEVICE)
        TRY_OUT(allocator_alloc(allocator, MEMORY_INPUT, bytes, &resident->memory));
    else
        TRY_OUT(
            host_alloc(resident->device, residence == RESIDENT_PINNED, bytes, &resident->memory));
    for (int64_t i = 0; i < resident->count; i++)
        TRY_OUT(take_batch(resident, loader, layout, stream, i));
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
    if (resident->residence == RESIDENT_ON_DEVICE)
        allocator_free(resident->allocator, resident->memory);
    else if (resident->memory != NULL)
        host_free(resident->device, resident->residence == RESIDENT_PINNED, resident->memory);
    free(resident->batches);
    free(resident->lengths);
    free(resident);
}

const struct batch *resident_batch(const struct resident *resident, int64_t step)
{
    return &resident->batches[step % resident->count];
}

const int32_t *resident_lengths(const struct resident *resident, int64_t step)
{
    return resident->lengths + step % resident->count * resident->samples;
}
