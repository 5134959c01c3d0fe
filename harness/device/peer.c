/* Copies to and from another device, and memory there. They are counted with those of the device,
 * and fail with its planned faults. Only drivers that have such copies offer peers. */
#include "harness/device/peer.h"

#include "harness/device/check.h"
#include "harness/device/driver.h"
#include "harness/device/faults.h"

const struct device_link device_link_unknown = {
    .direct = -1,
    .numa_node = -1,
    .numa_distance = -1,
};

static enum status check_peer(const struct device *device, int peer)
{
    const struct device_properties *properties = &device->properties;

    if (properties->peers == 0 || device->driver->peer_copy == NULL)
        FAIL(STATUS_UNSUPPORTED, "there is no other device beside %s", properties->name);
    /* Devices are numbered from 0 on, this one among them: so there is one more than peers. */
    if (peer < 0 || peer > properties->peers || peer == properties->index)
        FAIL(STATUS_BAD_USAGE, "device %d is no peer of device %d of %d", peer, properties->index,
             properties->peers + 1);

    return STATUS_OK;
}

struct device_link device_link(struct device *device, int peer)
{
    struct device_link link = device_link_unknown;

    if (check_peer(device, peer) == STATUS_OK)
        device->driver->peer_link(device, peer, &link);
    return link;
}

enum status device_peer_alloc(struct device *device, int peer, size_t bytes, void **memory)
{
    TRY(check_given(memory, "device_peer_alloc", "the result"));
    *memory = NULL;
    TRY(check_given(device, "device_peer_alloc", "the device"));
    TRY(check_peer(device, peer));
    TRY(faults_check(&device->ledger->faults, FAULT_alloc));
    TRY(device->driver->peer_alloc(device, peer, bytes, memory));
    atomic_fetch_add(&device->ledger->allocations, 1);

    return STATUS_OK;
}

enum status device_peer_free(struct device *device, int peer, void *memory)
{
    if (memory == NULL)
        return STATUS_OK;
    TRY(check_given(device, "device_peer_free", "the device"));
    TRY(check_peer(device, peer));
    TRY(device->driver->peer_free(device, peer, memory));
    atomic_fetch_add(&device->ledger->frees, 1);

    return STATUS_OK;
}

/* It counts as a copy within the device, and fails as one. */
static enum status copy_between(struct stream *stream, int peer, bool back, void *to,
                                const void *from, size_t bytes)
{
    struct device_ledger *ledger;

    TRY(check_given(stream, "a copy between devices", "the stream"));
    TRY(check_given(to, "a copy between devices", "the destination"));
    TRY(check_given(from, "a copy between devices", "the source"));
    TRY(check_peer(stream->device, peer));
    ledger = stream->device->ledger;
    TRY(faults_check(&ledger->faults, FAULT_copy));
    TRY(stream->device->driver->peer_copy(stream, peer, back, to, from, bytes));
    atomic_fetch_add(&ledger->copies, 1);
    atomic_fetch_add(&ledger->copy_bytes_d2d, (int64_t)bytes);

    return STATUS_OK;
}

enum status device_copy_to_peer(struct stream *stream, int peer, void *to, const void *from,
                                size_t bytes)
{
    return copy_between(stream, peer, false, to, from, bytes);
}

enum status device_copy_from_peer(struct stream *stream, int peer, void *to, const void *from,
                                  size_t bytes)
{
    return copy_between(stream, peer, true, to, from, bytes);
}
