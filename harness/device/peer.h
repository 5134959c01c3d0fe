/* Copies between devices of a kind, and how these are connected. Only this device is open: `peer`
 * is the index of the other one, which is not this one's. A device with none beside it has
 * properties.peers 0, and the functions say UNSUPPORTED. */
#pragma once

#include "harness/device/device.h"

/* As the driver and Linux state it. */
struct device_link {
    int direct; /* 1: a copy goes straight to the other memory; 0: through the host's; -1: unknown
                 */
    char kind[64];    /* "NVLink, 18 links up", "PCIe, one switch"; "": unknown */
    char refused[64]; /* why the driver allows no direct copies; "": it allows them, or says nothing
                       */
    int numa_node;    /* that the peer is attached to; -1: unknown */
    int numa_distance; /* between the nodes of both: 10 within a node; -1: unknown */
    char trouble[192]; /* why something of it is unknown; "": no reason was given */
};

extern const struct device_link device_link_unknown;

/* A reading: it changes nothing and never fails. */
struct device_link device_link(struct device *device, int peer);

/* Memory of the peer, 256-byte aligned and not cleared. Its GPU gets a context of this process, and
 * direct copies to it are enabled where it allows them. */
enum status device_peer_alloc(struct device *device, int peer, size_t bytes, void **memory);
enum status device_peer_free(struct device *device, int peer, void *memory); /* NULL is allowed */

/* Queue a copy between memory of the stream's device and of device_peer_alloc():
 * cudaMemcpyPeerAsync. Not during a capture. They count as copies within the device. */
enum status device_copy_to_peer(struct stream *stream, int peer, void *to, const void *from,
                                size_t bytes);
enum status device_copy_from_peer(struct stream *stream, int peer, void *to, const void *from,
                                  size_t bytes);
