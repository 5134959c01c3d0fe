/* Checksums of rows of words, made by a kernel into one array for the whole run, so that a run
 * copies little to the host and waits only at its end. The first run says how many there are. */
#include "harness/engine/model/ops/tensor_sums.h"

#include "harness/base/rows.h"
#include "harness/engine/model/ops/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The length of a row of the kernel: long enough that little is copied, short enough that the rows
 * of a large tensor fill a GPU. */
enum { WORDS = 8192 };

struct sum {
    const char *after, *name, *suffix;
    bool backward;
    int step;
    int64_t first, rows; /* among the words of the run */
};

struct tensor_sums {
    struct stream *stream;
    struct sum *items;
    int count;
    int64_t items_room;
    int64_t words;                 /* of the run so far */
    int64_t room;                  /* for so many words there is memory; 0: none yet */
    uint32_t *device;              /* [room], device memory */
    uint32_t *reference, *current; /* [room], the host's; of `current` all that was computed */
    int step;
    bool has_reference;
};

enum status tensor_sums_open(struct tensor_sums **opened, struct stream *stream)
{
    TRY(rows_make(opened, 1));
    (*opened)->stream = stream;

    return STATUS_OK;
}

void tensor_sums_close(struct tensor_sums *sums)
{
    if (sums == NULL)
        return;
    device_free(stream_device(sums->stream), NULL, ALLOCATE_DIRECT, sums->device);
    free(sums->reference);
    free(sums->current);
    free(sums->items);
    free(sums);
}

enum status tensor_sums_begin(struct tensor_sums *sums)
{
    if (sums->words > 0 && sums->room == 0) {
        void *memory;
        TRY(rows_make(&sums->reference, sums->words));
        TRY(rows_make(&sums->current, sums->words));
        TRY(device_alloc(stream_device(sums->stream), NULL, ALLOCATE_DIRECT,
                         (size_t)sums->words * sizeof *sums->device, &memory));
        sums->device = memory;
        sums->room = sums->words;
    }
    sums->words = 0;
    sums->count = 0;
    sums->step = 1;

    return STATUS_OK;
}

void tensor_sums_step_end(struct tensor_sums *sums)
{
    if (sums != NULL)
        sums->step++;
}

/* In the first run there is no room yet: it only counts the words that are needed. */
static enum status add_sum(struct tensor_sums *sums, struct sum sum, const void *memory,
                           size_t bytes)
{
    int64_t words = (int64_t)((bytes + sizeof(uint32_t) - 1) / sizeof(uint32_t));

    sum.step = sums->step;
    sum.first = sums->words;
    sum.rows = (words + WORDS - 1) / WORDS;
    TRY(rows_grow(&sums->items, sums->count + 1, &sums->items_room));
    sums->items[sums->count++] = sum;
    sums->words += sum.rows;
    if (sums->words <= sums->room)
        TRY(LAUNCH(sums->stream, DTYPE_F32, checksum, (long)sum.rows,
                   .sums = sums->device + sum.first, .x = memory, .count = words, .width = WORDS));

    return STATUS_OK;
}

enum status tensor_sums_add(struct tensor_sums *sums, const char *after, bool backward,
                            const struct tensor *tensor)
{
    struct sum sum = { .after = after, .name = tensor->name, .backward = backward };

    if (sums == NULL)
        return STATUS_OK;
    sum.suffix =
        tensor->category == MEMORY_GRADIENTS || tensor->category == MEMORY_ACTIVATION_GRADIENTS
            ? ".grad"
            : "";
    return add_sum(sums, sum, tensor->data, tensor_bytes(tensor));
}

enum status tensor_sums_add_memory(struct tensor_sums *sums, const char *after, const char *name,
                                   const char *suffix, const void *memory, size_t bytes)
{
    if (sums == NULL)
        return STATUS_OK;
    return add_sum(sums, (struct sum){ .after = after, .name = name, .suffix = suffix }, memory,
                   bytes);
}

enum status tensor_sums_compare(struct tensor_sums *sums, struct tensor_difference *difference)
{
    uint32_t *to = sums->has_reference ? sums->current : sums->reference;

    *difference = (struct tensor_difference){ .step = 0 };
    TRY(stream_synchronize(sums->stream));
    if (sums->room == 0)
        return STATUS_OK;
    if (sums->words != sums->room)
        FAIL(STATUS_INTERNAL, "a run has %lld checksums, and the first one had %lld",
             (long long)sums->words, (long long)sums->room);
    TRY(device_copy(sums->stream, COPY_DEVICE_TO_HOST, to, sums->device,
                    (size_t)sums->room * sizeof *to));
    for (int i = 0; sums->has_reference && i < sums->count && difference->step == 0; i++) {
        const struct sum *sum = &sums->items[i];
        if (memcmp(sums->reference + sum->first, sums->current + sum->first,
                   (size_t)sum->rows * sizeof *sums->current) == 0)
            continue;
        difference->step = sum->step; /* from 1 on */
        snprintf(difference->tensor, sizeof difference->tensor, "%s%s", sum->name, sum->suffix);
        snprintf(difference->after, sizeof difference->after, "%s%s", sum->after,
                 sum->backward ? " backward" : "");
    }
    sums->has_reference = true;

    return STATUS_OK;
}

int tensor_sums_count(const struct tensor_sums *sums)
{
    return sums->count;
}
