/* How fast N bytes are copied between host and device, and within the device.
 *
 * Copies are queued without waiting where the memory allows it. Bytes are those that cross; within the
 * device they are read and written, so they count twice. */
#include "harness/bench/bench.h"

#include <string.h>

struct direction {
    enum copy_kind kind;
    bool pinned;
};

struct own {
    struct direction direction;
    unsigned char *host, *device[2];
};

static enum status run(struct bench_work *work, int64_t iterations)
{
    enum status status = STATUS_OK;
    const struct own *own = work->own;
    const bool up = own->direction.kind == COPY_HOST_TO_DEVICE;
    void *to = own->direction.kind == COPY_DEVICE_TO_HOST ? own->host : own->device[0];
    const void *from = up ? own->host : own->device[own->direction.kind == COPY_DEVICE_TO_DEVICE];

    for (int64_t i = 0; i < iterations; i++)
        TRY(device_copy_async(work->stream, own->direction.kind, to, from, (size_t)work->argument));
    TRY(stream_synchronize(work->stream));

out:
    return status;
}

static void fill(struct bench_work *work, unsigned char *bytes)
{
    uint64_t bits;

    for (int64_t i = 0; i + (int64_t)sizeof bits <= work->argument; i += (int64_t)sizeof bits) {
        bits = random_bits(&work->random);
        memcpy(bytes + i, &bits, sizeof bits);
    }
}

/* Other bytes at the target, one copy, and then they must be the source's. */
static enum status check(struct bench_work *work, unsigned char *expected)
{
    enum status status = STATUS_OK;
    const struct own *own = work->own;
    size_t bytes = (size_t)work->argument;
    int source = own->direction.kind == COPY_DEVICE_TO_DEVICE;

    memcpy(expected, own->host, bytes);
    TRY(device_memset(work->stream, own->device[!source], 0, bytes));
    TRY(device_copy(work->stream, COPY_HOST_TO_DEVICE, own->device[source], own->host, bytes));
    TRY(stream_synchronize(work->stream));
    if (own->direction.kind == COPY_HOST_TO_DEVICE)
        TRY(device_memset(work->stream, own->device[0], 0, bytes));
    else
        memset(own->host, 0, bytes);
    TRY(run(work, 1));
    if (own->direction.kind != COPY_DEVICE_TO_HOST)
        TRY(device_copy(work->stream, COPY_DEVICE_TO_HOST, own->host, own->device[0], bytes));
    if (memcmp(own->host, expected, bytes) != 0)
        FAIL(STATUS_INTERNAL, "a copy of %zu bytes changed them", bytes);

out:
    return status;
}

static enum status set_up(struct bench_work *work, struct direction direction)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;
    size_t bytes = (size_t)work->argument;
    void *memory, *expected = NULL;

    own->direction = direction;
    TRY(host_alloc(work->device, direction.pinned, bytes, &memory));
    own->host = memory;
    for (int i = 0; i < 2; i++) {
        TRY(device_alloc(work->device, NULL, ALLOCATE_DIRECT, bytes, &memory));
        own->device[i] = memory;
    }
    fill(work, own->host);
    TRY(host_alloc(work->device, false, bytes, &expected));
    TRY(check(work, expected));
    work->bytes = work->argument * (direction.kind == COPY_DEVICE_TO_DEVICE ? 2 : 1);

out:
    host_free(work->device, false, expected);
    return status;
}

static void tear_down(struct bench_work *work)
{
    struct own *own = work->own;

    stream_synchronize(work->stream);
    host_free(work->device, own->direction.pinned, own->host);
    for (int i = 0; i < 2; i++) device_free(work->device, NULL, ALLOCATE_DIRECT, own->device[i]);
}

static enum status set_up_h2d(struct bench_work *work)
{
    return set_up(work, (struct direction){ COPY_HOST_TO_DEVICE, true });
}

static enum status set_up_h2d_pageable(struct bench_work *work)
{
    return set_up(work, (struct direction){ COPY_HOST_TO_DEVICE, false });
}

static enum status set_up_d2h(struct bench_work *work)
{
    return set_up(work, (struct direction){ COPY_DEVICE_TO_HOST, true });
}

static enum status set_up_d2d(struct bench_work *work)
{
    return set_up(work, (struct direction){ COPY_DEVICE_TO_DEVICE, true });
}

#define BW_COPY(name_, text_)                                                                      \
    const struct bench bench_bw_copy_##name_ = {                                                   \
        .name = "bw_copy_" #name_,                                                                 \
        .text = text_,                                                                             \
        .arguments = { 64 << 10, 4 << 20, 64 << 20 },                                              \
        .own_bytes = sizeof(struct own),                                                           \
        .set_up = set_up_##name_,                                                                  \
        .run = run,                                                                                \
        .tear_down = tear_down,                                                                    \
    }

BW_COPY(h2d, "N bytes from pinned host memory to the device");
BW_COPY(h2d_pageable, "N bytes from pageable host memory to the device");
BW_COPY(d2h, "N bytes from the device to pinned host memory");
BW_COPY(d2d, "N bytes within the device; they are read and written and count twice");
