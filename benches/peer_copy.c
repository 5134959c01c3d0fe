/* Copies from this device to the next one: how fast N bytes get there, and how long a copy of a few
 * bytes takes, with the wait for it. After the last device comes the first. doctor has the figures
 * of every pair. */
#include "harness/bench/bench.h"
#include "harness/device/peer.h"

#include <string.h>

enum { FEW_BYTES = 64 };

struct own {
    int peer;
    void *there; /* memory of the peer */
    unsigned char *device[2];
};

static const char *lack(const struct bench *bench, const struct device_properties *device)
{
    (void)bench;
    return device->peers == 0 ? "there is no other device" : NULL;
}

static size_t bytes_of(const struct bench_work *work)
{
    return work->argument > 0 ? (size_t)work->argument : FEW_BYTES;
}

static enum status copy(struct bench_work *work, int64_t iterations)
{
    const struct own *own = work->own;

    for (int64_t i = 0; i < iterations && !*work->stop; i++)
        TRY(device_copy_to_peer(work->stream, own->peer, own->there, own->device[0],
                                bytes_of(work)));
    return stream_synchronize(work->stream);
}

static enum status copy_and_wait(struct bench_work *work, int64_t iterations)
{
    for (int64_t i = 0; i < iterations && !*work->stop; i++) TRY(copy(work, 1));

    return STATUS_OK;
}

/* There and back, onto zeros. */
static enum status peer_check(struct bench_work *work, unsigned char *host, unsigned char *back)
{
    const struct own *own = work->own;
    size_t bytes = bytes_of(work);
    uint64_t bits;

    for (size_t i = 0; i + sizeof bits <= bytes; i += sizeof bits) {
        bits = random_bits(&work->random);
        memcpy(host + i, &bits, sizeof bits);
    }
    TRY(device_copy(work->stream, COPY_HOST_TO_DEVICE, own->device[0], host, bytes));
    TRY(device_memset(work->stream, own->device[1], 0, bytes));
    TRY(copy(work, 1));
    TRY(device_copy_from_peer(work->stream, own->peer, own->device[1], own->there, bytes));
    TRY(device_copy(work->stream, COPY_DEVICE_TO_HOST, back, own->device[1], bytes));
    if (memcmp(host, back, bytes) != 0)
        FAIL(STATUS_INTERNAL, "a copy of %zu bytes to device %d and back changed them", bytes,
             own->peer);

    return STATUS_OK;
}

static enum status peer_set_up(struct bench_work *work)
{
    const struct device_properties *device = device_properties(work->device);
    struct own *own = work->own;
    size_t bytes = bytes_of(work);
    void *memory[4];

    for (int i = 0; i < 4; i++)
        TRY(bench_alloc(work, i < 2 ? BENCH_DEVICE : BENCH_PAGEABLE, bytes, &memory[i]));
    own->device[0] = memory[0];
    own->device[1] = memory[1];
    own->peer = (device->index + 1) % (device->peers + 1);
    TRY(device_peer_alloc(work->device, own->peer, bytes, &own->there));
    TRY(peer_check(work, memory[2], memory[3]));
    work->bytes = work->argument;

    return STATUS_OK;
}

static void peer_tear_down(struct bench_work *work)
{
    const struct own *own = work->own;

    device_peer_free(work->device, own->peer, own->there);
}

const struct bench bench_bw_copy_peer = {
    .name = "bw_copy_peer",
    .text = "N bytes to the next device",
    .arguments = { 64 << 10, 1 << 20, 16 << 20, 256 << 20 },
    .own_bytes = sizeof(struct own),
    .lack = lack,
    .set_up = peer_set_up,
    .run = copy,
    .tear_down = peer_tear_down,
};

const struct bench bench_lat_copy_peer = {
    .name = "lat_copy_peer",
    .text = "a copy of 64 bytes to the next device, and the wait for it",
    .own_bytes = sizeof(struct own),
    .lack = lack,
    .set_up = peer_set_up,
    .run = copy_and_wait,
    .tear_down = peer_tear_down,
};
