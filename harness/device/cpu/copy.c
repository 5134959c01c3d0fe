/* Copies and memsets, by CUDA's rules of who waits for what ("API synchronization behavior" in the
 * CUDA runtime's reference):
 *
 *                    asynchronous call                    synchronous call
 *   pinned <-> dev   returns at once                      returns when done
 *   pageable -> dev  returns when the bytes are staged    waits for the stream, then the same
 *   dev -> pageable  returns when done                    returns when done
 *   dev -> dev       returns at once                      returns at once
 *
 * Staging is what makes pageable copies slow: every byte is copied twice, the first or the last
 * time by the host itself. A stream's staging buffers are used in turn; a copy larger than all of
 * them waits for the worker to empty one. */
#include "harness/base/clock.h"
#include "harness/device/cpu/cpu.h"
#include "harness/device/cpu/cpu_memory.h"

#include <stdlib.h>
#include <string.h>

static enum status run_copy(struct cpu_stream *stream, const struct item *item)
{
    const struct copy_item *copy = &item->copy;

    if (copy->first && item->correlation != 0)
        stream->copy_start_ns = clock_ns();
    memmove(copy->to, copy->from, copy->bytes);
    return STATUS_OK;
}

/* As PyTorch's profiler names copies. */
static const char *copy_name(const struct copy_item *copy)
{
    bool pinned =
        copy->source == ACTIVITY_MEMORY_PINNED || copy->destination == ACTIVITY_MEMORY_PINNED;

    switch (copy->kind) {
    case COPY_HOST_TO_DEVICE:
        return pinned ? "Memcpy HtoD (Pinned -> Device)" : "Memcpy HtoD (Pageable -> Device)";
    case COPY_DEVICE_TO_HOST:
        return pinned ? "Memcpy DtoH (Device -> Pinned)" : "Memcpy DtoH (Device -> Pageable)";
    case COPY_DEVICE_TO_DEVICE:
        break;
    }
    return "Memcpy DtoD (Device -> Device)";
}

static void show_copy(const struct cpu_stream *stream, const struct item *item,
                      struct activity *activity)
{
    static const enum activity_copy directions[] = {
        [COPY_HOST_TO_DEVICE] = ACTIVITY_COPY_HTOD,
        [COPY_DEVICE_TO_HOST] = ACTIVITY_COPY_DTOH,
        [COPY_DEVICE_TO_DEVICE] = ACTIVITY_COPY_DTOD,
    };
    const struct copy_item *copy = &item->copy;

    if (!copy->last) {
        activity->kind = ACTIVITY_KIND_COUNT;
        return;
    }
    activity->kind = ACTIVITY_MEMCPY;
    activity->name = copy_name(copy);
    if (!copy->first)
        activity->start_ns = stream->copy_start_ns;
    activity->bytes = (int64_t)copy->bytes_in_all;
    activity->asynchronous = copy->asynchronous;
    activity->copy = directions[copy->kind];
    activity->source = copy->source;
    activity->destination = copy->destination;
}

static const struct cpu_work copy_work = { .run = run_copy, .show = show_copy };

static enum status put_copy(struct cpu_stream *stream, const struct copy_item *copy,
                            const struct call *call, uint64_t *ticket)
{
    struct item *item;

    TRY(stream_claim(stream, &item));
    item->work = &copy_work;
    item->correlation = call->correlation;
    item->copy = *copy;
    *ticket = stream_submit(stream);

    return STATUS_OK;
}

/* Passes `copy` through the stream's staging buffers, chunk after chunk. To the host, a buffer is
 * emptied before it is used again, and all are at the end. */
struct staged {
    struct cpu_stream *stream;
    const struct copy_item *copy;
    const struct call *call;
    bool to_host;
    size_t chunks;
};

static size_t chunk_bytes(const struct staged *staged, size_t chunk)
{
    size_t left = staged->copy->bytes - chunk * STAGING_BYTES;

    return left < STAGING_BYTES ? left : STAGING_BYTES;
}

static unsigned char *slot_of(const struct staged *staged, size_t chunk)
{
    return staged->stream->staging + chunk % STAGING_SLOTS * STAGING_BYTES;
}

/* Waits until the worker has filled the chunk's buffer, and takes the bytes out of it. */
static void empty_slot(const struct staged *staged, size_t chunk)
{
    queue_wait(staged->stream->queue, staged->stream->staging_tickets[chunk % STAGING_SLOTS]);
    if (staged->to_host)
        memcpy((unsigned char *)staged->copy->to + chunk * STAGING_BYTES, slot_of(staged, chunk),
               chunk_bytes(staged, chunk));
}

/* To the device the host fills the buffer now; to the host the worker fills it, and empty_slot()
 * takes the bytes later. */
static enum status put_chunk(const struct staged *staged, size_t chunk)
{
    const struct copy_item *copy = staged->copy;
    unsigned char *slot = slot_of(staged, chunk);
    size_t offset = chunk * STAGING_BYTES, bytes = chunk_bytes(staged, chunk);
    struct copy_item part = *copy;

    part.bytes = bytes;
    part.first = chunk == 0;
    part.last = chunk + 1 == staged->chunks;
    if (staged->to_host) {
        part.from = (const unsigned char *)copy->from + offset;
        part.to = slot;
    } else {
        memcpy(slot, (const unsigned char *)copy->from + offset, bytes);
        part.from = slot;
        part.to = (unsigned char *)copy->to + offset;
    }
    return put_copy(staged->stream, &part, staged->call,
                    &staged->stream->staging_tickets[chunk % STAGING_SLOTS]);
}

/* A copy from or to pageable memory goes through a few staging buffers, as drivers do it: the
 * caller's memory is not touched once this returns. */
static enum status copy_staged(struct cpu_stream *stream, const struct copy_item *copy,
                               const struct call *call)
{
    enum status status = STATUS_OK;
    struct staged staged = {
        .stream = stream,
        .copy = copy,
        .call = call,
        .to_host = copy->kind == COPY_DEVICE_TO_HOST,
        .chunks = (copy->bytes + STAGING_BYTES - 1) / STAGING_BYTES,
    };
    size_t put_so_far = 0, emptied = 0;

    pthread_mutex_lock(&stream->staging_lock);
    if (stream->staging == NULL) {
        stream->staging = aligned_alloc(4096, STAGING_SLOTS * STAGING_BYTES);
        if (stream->staging == NULL)
            FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory for staging buffers (%d bytes)",
                     STAGING_SLOTS * STAGING_BYTES);
    }
    if (!staged.to_host) /* The previous copy may still be in the buffers. */
        for (; put_so_far < staged.chunks; put_so_far++) {
            queue_wait(stream->queue, stream->staging_tickets[put_so_far % STAGING_SLOTS]);
            TRY_OUT(put_chunk(&staged, put_so_far));
        }
    for (; emptied < staged.chunks && staged.to_host; emptied++) {
        for (; put_so_far < staged.chunks && put_so_far < emptied + STAGING_SLOTS; put_so_far++)
            TRY_OUT(put_chunk(&staged, put_so_far));
        empty_slot(&staged, emptied);
    }

out:
    pthread_mutex_unlock(&stream->staging_lock);
    return status;
}

enum status cpu_copy(struct stream *base, enum copy_kind kind, bool asynchronous, void *to,
                     const void *from, size_t bytes, bool *waited)
{
    enum status status = STATUS_OK;
    struct cpu_stream *stream = (struct cpu_stream *)base;
    struct cpu_device *device = (struct cpu_device *)base->device;
    struct copy_item copy = {
        .to = to,
        .from = from,
        .bytes = bytes,
        .bytes_in_all = bytes,
        .kind = kind,
        .asynchronous = asynchronous,
        .first = true,
        .last = true,
    };
    struct call call = call_begin(device);
    struct copy_sides sides;
    uint64_t ticket;

    TRY_OUT(regions_copy_sides(cpu_memory_regions(device->memory), kind, to, from, bytes, &sides));
    copy.source = sides.source;
    copy.destination = sides.destination;
    if (sides.pageable)
        TRY_OUT(
            capture_forbids(&stream->capture, "copying from or to pageable memory on the stream"));
    if (!asynchronous)
        TRY_OUT(capture_forbids(&stream->capture, "a synchronous copy on the stream"));
    *waited = kind != COPY_DEVICE_TO_DEVICE &&
              (!asynchronous || (sides.pageable && kind == COPY_DEVICE_TO_HOST));
    if (sides.pageable) {
        if (!asynchronous && kind == COPY_HOST_TO_DEVICE)
            queue_wait(stream->queue, queue_submitted(stream->queue));
        TRY_OUT(copy_staged(stream, &copy, &call));
    } else {
        TRY_OUT(put_copy(stream, &copy, &call, &ticket));
        if (*waited)
            queue_wait(stream->queue, ticket);
    }
    if (*waited)
        TRY_OUT(device_failure(device));

out:
    call_end(device, &call, asynchronous ? "cudaMemcpyAsync" : "cudaMemcpy");
    return status;
}

static enum status run_memset(struct cpu_stream *stream, const struct item *item)
{
    (void)stream;
    memset(item->memset.memory, item->memset.byte, item->memset.bytes);
    return STATUS_OK;
}

static void show_memset(const struct cpu_stream *stream, const struct item *item,
                        struct activity *activity)
{
    (void)stream;
    activity->kind = ACTIVITY_MEMSET;
    activity->name = "Memset (Device)";
    activity->bytes = (int64_t)item->memset.bytes;
    activity->asynchronous = true;
    activity->destination = ACTIVITY_MEMORY_DEVICE;
}

static const struct cpu_work memset_work = { .run = run_memset, .show = show_memset };

enum status cpu_memset(struct stream *base, void *memory, int byte, size_t bytes)
{
    enum status status = STATUS_OK;
    struct cpu_stream *stream = (struct cpu_stream *)base;
    struct cpu_device *device = (struct cpu_device *)base->device;
    struct call call = call_begin(device);
    struct item *item;

    TRY_OUT(regions_check_memset(cpu_memory_regions(device->memory), memory, bytes));
    TRY_OUT(stream_claim(stream, &item));
    item->work = &memset_work;
    item->correlation = call.correlation;
    item->memset.memory = memory;
    item->memset.bytes = bytes;
    item->memset.byte = byte;
    stream_submit(stream);

out:
    call_end(device, &call, "cudaMemsetAsync");
    return status;
}
