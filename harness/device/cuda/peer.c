/* Other GPUs that this process sees. A copy that the hardware allows goes straight from memory to
 * memory once the GPU of the stream has access to its peer's ("CUDA C++ Programming Guide",
 * "Peer-to-Peer Memory Access"); any other goes through memory of the host, which CUDA does by
 * itself. */
#include "harness/device/peer.h"
#include "harness/device/cuda/cuda.h"
#include "harness/device/cuda/cuda_memory.h"
#include "harness/device/cuda/libraries/nvml.h"
#include "harness/device/cuda/libraries/pci.h"

#include <stdio.h>

static enum status allow_access(const struct cuda_device *device, int peer)
{
    int can = 0;
    cudaError_t enabled;

    CUDA(cudaDeviceCanAccessPeer(&can, device->base.properties.index, peer));
    if (!can)
        return STATUS_OK;
    enabled = cudaDeviceEnablePeerAccess(peer, 0);
    if (enabled == cudaErrorPeerAccessAlreadyEnabled)
        (void)cudaGetLastError();
    else
        TRY(errors_check(enabled, "cudaDeviceEnablePeerAccess", __FILE__, __LINE__));

    return STATUS_OK;
}

/* The thread's device is set back before any error is looked at: cuda_enter() relies on it. */
enum status cuda_peer_alloc(struct device *base, int peer, size_t bytes, void **memory)
{
    struct cuda_device *device = (struct cuda_device *)base;
    cudaError_t allocated, returned;

    TRY(cuda_enter(device));
    TRY(allow_access(device, peer));
    CUDA(cudaSetDevice(peer));
    allocated = cudaMalloc(memory, bytes);
    returned = cudaSetDevice(base->properties.index);
    TRY(errors_check(allocated, "cudaMalloc", __FILE__, __LINE__));
    TRY(errors_check(returned, "cudaSetDevice", __FILE__, __LINE__));

    return STATUS_OK;
}

/* cudaFree() finds the GPU by the address. */
enum status cuda_peer_free(struct device *base, int peer, void *memory)
{
    (void)peer;
    TRY(cuda_enter((struct cuda_device *)base));
    CUDA(cudaFree(memory));

    return STATUS_OK;
}

enum status cuda_peer_copy(struct stream *base, int peer, bool back, void *to, const void *from,
                           size_t bytes)
{
    struct cuda_stream *stream = (struct cuda_stream *)base;
    struct cuda_device *device = (struct cuda_device *)base->device;
    int own = device->base.properties.index;

    TRY(cuda_enter(device));
    TRY(capture_forbids(&stream->capture, "a copy between devices on the stream"));
    if (regions_kind(cuda_memory_regions(device->memory), back ? to : from, bytes) !=
        ACTIVITY_MEMORY_DEVICE)
        FAIL(STATUS_BAD_USAGE, "a copy between devices: its %s is no memory of device %d",
             back ? "destination" : "source", own);
    CUDA(
        cudaMemcpyPeerAsync(to, back ? own : peer, from, back ? peer : own, bytes, stream->handle));

    return STATUS_OK;
}

/* Without a word from CUDA the link is as NVML says. */
void cuda_peer_link(struct device *base, int peer, struct device_link *link)
{
    struct cuda_device *device = (struct cuda_device *)base;
    char address[PCI_ADDRESS], cores[96];
    struct cudaDeviceProp gpu;
    int can;

    if (cuda_enter(device) != STATUS_OK || cudaGetDeviceProperties(&gpu, peer) != cudaSuccess) {
        (void)cudaGetLastError();
        snprintf(link->trouble, sizeof link->trouble, "CUDA says nothing of device %d", peer);
        return;
    }
    if (cudaDeviceCanAccessPeer(&can, base->properties.index, peer) == cudaSuccess)
        link->direct = can != 0;
    else
        (void)cudaGetLastError();
    pci_locality("", gpu.pciDomainID, gpu.pciBusID, gpu.pciDeviceID, &link->numa_node, cores,
                 sizeof cores);
    link->numa_distance = pci_numa_distance("", device->numa_node, link->numa_node);
    pci_address(address, gpu.pciDomainID, gpu.pciBusID, gpu.pciDeviceID);
    nvml_link(device->nvml, address, link);
}
