/* How fast N bytes are copied between host and device, one way or both ways at once, and within the
 * device.
 *
 * Copies are queued without waiting where the memory allows it. When both ways run at once, each
 * has a stream of its own. Bytes are those that cross; within the device they are read and written,
 * so they count twice. */
#include "harness/bench/bench.h"

#include <string.h>

enum way { H2D = 1, D2H = 2, BOTH = H2D | D2H, D2D = 4, PAGEABLE = 8 };

/* The copies are: host to device[0], device[1] to back, device[1] to device[0]. */
struct own {
    unsigned char *host, *back, *device[2];
    struct stream *second; /* for copies back while others go up */
};

static bool goes(const struct bench_work *work, enum way way)
{
    return (work->bench->variant & (int)way) != 0;
}

static enum status copies_run(struct bench_work *work, int64_t iterations)
{
    const struct own *own = work->own;
    size_t bytes = (size_t)work->argument;

    for (int64_t i = 0; i < iterations && !*work->stop; i++) {
        if (goes(work, H2D))
            TRY(device_copy_async(work->stream, COPY_HOST_TO_DEVICE, own->device[0], own->host,
                                  bytes));
        if (goes(work, D2H))
            TRY(device_copy_async(own->second, COPY_DEVICE_TO_HOST, own->back, own->device[1],
                                  bytes));
        if (goes(work, D2D))
            TRY(device_copy_async(work->stream, COPY_DEVICE_TO_DEVICE, own->device[0],
                                  own->device[1], bytes));
    }
    TRY(stream_synchronize(work->stream));
    return stream_synchronize(own->second);
}

/* One copy each way, onto zeros: then there must be what was at the source. */
static enum status copies_check(struct bench_work *work)
{
    const struct own *own = work->own;
    size_t bytes = (size_t)work->argument;

    TRY(device_copy(work->stream, COPY_HOST_TO_DEVICE, own->device[1], own->host, bytes));
    TRY(device_memset(work->stream, own->device[0], 0, bytes));
    TRY(stream_synchronize(work->stream));
    memset(own->back, 0, bytes);
    TRY(copies_run(work, 1));
    if (goes(work, D2H) && memcmp(own->back, own->host, bytes) != 0)
        FAIL(STATUS_INTERNAL, "a copy of %zu bytes to the host changed them", bytes);
    if (!goes(work, H2D) && !goes(work, D2D))
        return STATUS_OK;
    TRY(device_copy(work->stream, COPY_DEVICE_TO_HOST, own->back, own->device[0], bytes));
    if (memcmp(own->back, own->host, bytes) != 0)
        FAIL(STATUS_INTERNAL, "a copy of %zu bytes to the device changed them", bytes);

    return STATUS_OK;
}

static enum status copies_set_up(struct bench_work *work)
{
    struct own *own = work->own;
    size_t bytes = (size_t)work->argument;
    enum bench_memory host = goes(work, PAGEABLE) ? BENCH_PAGEABLE : BENCH_PINNED;
    void *memory;

    TRY(stream_create(work->device, &own->second));
    TRY(bench_alloc(work, host, bytes, &memory));
    own->host = memory;
    TRY(bench_alloc(work, host, bytes, &memory));
    own->back = memory;
    for (int i = 0; i < 2; i++) {
        TRY(bench_alloc(work, BENCH_DEVICE, bytes, &memory));
        own->device[i] = memory;
    }
    uint64_t bits;
    for (int64_t i = 0; i + (int64_t)sizeof bits <= work->argument; i += (int64_t)sizeof bits) {
        bits = random_bits(&work->random);
        memcpy(own->host + i, &bits, sizeof bits);
    }
    TRY(copies_check(work));
    work->bytes = work->argument * (goes(work, D2D) ? 2 : goes(work, H2D) + goes(work, D2H));

    return STATUS_OK;
}

static void copies_tear_down(struct bench_work *work)
{
    struct own *own = work->own;

    stream_destroy(own->second);
}

#define BW_COPY(name_, way, roof_, text_)                                                          \
    const struct bench bench_bw_copy_##name_ = {                                                   \
        .name = "bw_copy_" #name_,                                                                 \
        .text = text_,                                                                             \
        .variant = way,                                                                            \
        .roof = roof_,                                                                             \
        .arguments = { 64 << 10, 4 << 20, 64 << 20 },                                              \
        .arguments_large = { 64 << 10, 1 << 20, 16 << 20, 256 << 20 },                             \
        .own_bytes = sizeof(struct own),                                                           \
        .set_up = copies_set_up,                                                                   \
        .run = copies_run,                                                                         \
        .tear_down = copies_tear_down,                                                             \
    }

BW_COPY(h2d, H2D, ROOF_NONE, "N bytes from pinned host memory to the device");
BW_COPY(h2d_pageable, H2D | PAGEABLE, ROOF_NONE, "N bytes from pageable host memory to the device");
BW_COPY(d2h, D2H, ROOF_NONE, "N bytes from the device to pinned host memory");
BW_COPY(d2h_pageable, D2H | PAGEABLE, ROOF_NONE, "N bytes from the device to pageable host memory");
BW_COPY(both, BOTH, ROOF_NONE, "N bytes each way at once, pinned, on two streams; both count");
BW_COPY(d2d, D2D, ROOF_MEMORY,
        "N bytes within the device; they are read and written, and count twice");
