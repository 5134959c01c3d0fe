/* Batches on their way from the host to the device. Batches that are being copied are a ring of
 * flights, each with the event that ends it. Where copies overlap, events order both streams: a
 * copy waits until its input is read, and compute waits until it has arrived. */
#include "harness/engine/step/parts/transfer.h"

#include "harness/base/rows.h"

#include <stdlib.h>
#include <string.h>

/* A batch whose copy may not be done yet. */
struct flight {
    const struct batch *batch;
    void *pinned; /* a copy for this flight alone; NULL: the batch itself is copied from */
    struct event *arrived;
};

struct transfer {
    struct transfer_config config;
    struct stream *compute, *copies; /* copies: only where they overlap */
    struct allocator *allocator;
    struct batch_layout layout;
    struct loader *loader;
    void *inputs[TRANSFER_INPUTS];           /* the second one only where copies overlap */
    struct event *consumed[TRANSFER_INPUTS]; /* no queued work reads the input any more */
    int now;                                 /* the input of the step under way */
    struct flight *flights;                  /* a ring */
    int64_t sent, returned;                  /* batches, in order */
};

enum status transfer_open(struct transfer **opened, const struct transfer_config *config,
                          struct stream *compute, struct allocator *allocator,
                          const struct batch_layout *layout, bool from_host, struct loader *loader)
{
    enum status status = STATUS_OK;
    struct transfer *transfer;

    *opened = NULL;
    TRY_OUT(rows_make(&transfer, 1));
    transfer->config = *config;
    transfer->compute = compute;
    transfer->allocator = allocator;
    transfer->layout = *layout;
    transfer->loader = loader;
    TRY_OUT(rows_make(&transfer->flights, config->batches_in_flight));
    TRY_OUT(allocator_alloc(allocator, MEMORY_INPUT, layout->bytes, &transfer->inputs[0]));
    for (int i = 0; from_host && i < config->batches_in_flight; i++)
        TRY_OUT(event_create(stream_device(compute), false, &transfer->flights[i].arrived));
    if (from_host && config->mode == TRANSFER_OVERLAPPED) {
        /* A second input and a stream for copies. */
        struct device *device = stream_device(transfer->compute);

        TRY_OUT(stream_create(device, &transfer->copies));
        for (int i = 0; i < TRANSFER_INPUTS; i++) {
            if (i > 0)
                TRY_OUT(allocator_alloc(transfer->allocator, MEMORY_INPUT, transfer->layout.bytes,
                                        &transfer->inputs[i]));
            TRY_OUT(event_create(device, false, &transfer->consumed[i]));
        }
        /* The copy stream may write to the inputs only after earlier work of the compute stream on
         * this memory. */
        TRY_OUT(stream_synchronize(transfer->compute));
    }
    *opened = transfer;
    transfer = NULL;

out:
    transfer_close(transfer);
    return status;
}

/* The batch goes back to the loader, if it is one of a loader's, and memory that was pinned for it
 * to the device. */
static enum status land(const struct transfer *transfer, struct flight *flight)
{
    void *pinned = flight->pinned;

    flight->pinned = NULL;
    if (transfer->loader != NULL)
        loader_return(transfer->loader, flight->batch);
    return pinned != NULL ? host_free(stream_device(transfer->compute), true, pinned) : STATUS_OK;
}

void transfer_close(struct transfer *transfer)
{
    if (transfer == NULL)
        return;
    stream_destroy(transfer->copies);
    if (transfer->sent > transfer->returned)
        stream_synchronize(transfer->compute);
    for (; transfer->returned < transfer->sent; transfer->returned++)
        land(transfer, &transfer->flights[transfer->returned % transfer->config.batches_in_flight]);
    for (int i = 0; transfer->flights != NULL && i < transfer->config.batches_in_flight; i++)
        event_destroy(transfer->flights[i].arrived);
    for (int i = 0; i < TRANSFER_INPUTS; i++) {
        event_destroy(transfer->consumed[i]);
        allocator_free(transfer->allocator, transfer->inputs[i]);
    }
    free(transfer->flights);
    free(transfer);
}

void *transfer_input(const struct transfer *transfer)
{
    return transfer->inputs[transfer->now];
}

int transfer_input_number(const struct transfer *transfer)
{
    return transfer->now;
}

enum status transfer_reclaim(struct transfer *transfer)
{
    enum status status = STATUS_OK;
    int room = transfer->config.batches_in_flight;

    while (transfer->returned < transfer->sent) {
        struct flight *flight = &transfer->flights[transfer->returned % room];
        bool full = transfer->sent - transfer->returned == room;
        status = full ? event_synchronize(flight->arrived) : event_query(flight->arrived);
        if (status == STATUS_NOT_READY) {
            status = STATUS_OK;
            break;
        }
        TRY_OUT(status);
        transfer->returned++;
        TRY_OUT(land(transfer, flight));
    }

out:
    return status;
}

static enum status copy_piece(const struct transfer *transfer, struct stream *stream, char *to,
                              const char *from, size_t offset, size_t bytes)
{
    if (transfer->config.mode == TRANSFER_BLOCKING)
        return device_copy(stream, COPY_HOST_TO_DEVICE, to + offset, from + offset, bytes);
    return device_copy_async(stream, COPY_HOST_TO_DEVICE, to + offset, from + offset, bytes);
}

/* The batch in one copy, or one copy per tensor: each sample's input, the labels, the lengths. */
static enum status copy_batch(const struct transfer *transfer, struct stream *stream, void *to,
                              const void *from)
{
    const struct batch_layout *layout = &transfer->layout;
    size_t column = (size_t)layout->samples * sizeof(int32_t);

    if (transfer->config.one_copy) {
        TRY(copy_piece(transfer, stream, to, from, 0, layout->bytes));
        return STATUS_OK;
    }
    for (int i = 0; i < layout->samples; i++)
        TRY(copy_piece(transfer, stream, to, from, (size_t)i * layout->sample_bytes,
                       layout->sample_bytes));
    TRY(copy_piece(transfer, stream, to, from, layout->labels_offset, column));
    return copy_piece(transfer, stream, to, from, layout->lengths_offset, column);
}

/* As tensor.pin_memory() does in a loop, if nothing keeps what it allocates. */
static enum status pin(const struct transfer *transfer, struct flight *flight)
{
    size_t bytes = transfer->layout.bytes;

    TRY(host_alloc(stream_device(transfer->compute), true, bytes, &flight->pinned));
    memcpy(flight->pinned, flight->batch->memory, bytes);

    return STATUS_OK;
}

enum status transfer_batch(struct transfer *transfer, const struct batch *batch)
{
    struct flight *flight = &transfer->flights[transfer->sent % transfer->config.batches_in_flight];
    enum status status = STATUS_OK;
    const void *from = batch->memory;

    flight->batch = batch;
    if (transfer->config.pinned && !transfer->config.pinned_once) {
        TRY_OUT(pin(transfer, flight));
        from = flight->pinned;
    }
    if (transfer->config.mode == TRANSFER_OVERLAPPED) {
        /* The copy stream fills one input while the compute stream may still read the other. */
        int next = (int)(transfer->sent % TRANSFER_INPUTS);
        TRY_OUT(stream_wait_event(transfer->copies, transfer->consumed[next]));
        TRY_OUT(copy_batch(transfer, transfer->copies, transfer->inputs[next], from));
        TRY_OUT(event_record(flight->arrived, transfer->copies));
        TRY_OUT(stream_wait_event(transfer->compute, flight->arrived));
        transfer->now = next;
    } else {
        TRY_OUT(copy_batch(transfer, transfer->compute, transfer->inputs[0], from));
        TRY_OUT(event_record(flight->arrived, transfer->compute));
    }
    transfer->sent++;

out:
    if (status != STATUS_OK) {
        /* Freeing may fail too, and would hide what came first. */
        struct status_error error = *status_last();
        land(transfer, flight);
        status_raise(&error);
    }
    return status;
}

enum status transfer_consumed(struct transfer *transfer)
{
    if (transfer->copies == NULL)
        return STATUS_OK;
    return event_record(transfer->consumed[transfer->now], transfer->compute);
}

enum status transfer_resident(struct transfer *transfer, const void *batch)
{
    return device_copy_async(transfer->compute, COPY_DEVICE_TO_DEVICE, transfer->inputs[0], batch,
                             transfer->layout.bytes);
}
