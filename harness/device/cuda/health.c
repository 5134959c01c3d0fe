/* The health of the GPU that is open: what NVML answers, and where it is plugged in. NVML is opened
 * with the device, because starting it takes too long to be done before a timed window. */
#include "harness/device/cuda/cuda.h"

#include "harness/device/cuda/libraries/nvml.h"
#include "harness/device/cuda/libraries/pci.h"

#include <string.h>

enum status health_open(struct cuda_device *device)
{
    char address[PCI_ADDRESS];
    struct cudaDeviceProp gpu;

    CUDA(cudaGetDeviceProperties(&gpu, device->base.properties.index));
    pci_address(address, gpu.pciDomainID, gpu.pciBusID, gpu.pciDeviceID);
    device->nvml = nvml_open(address);
    if (device->nvml == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no host memory for NVML's readings");
    pci_locality("", gpu.pciDomainID, gpu.pciBusID, gpu.pciDeviceID, &device->numa_node,
                 device->local_cores, sizeof device->local_cores);

    return STATUS_OK;
}

void cuda_health(struct device *base, enum health_detail detail, struct device_health *health)
{
    struct cuda_device *device = (struct cuda_device *)base;

    if (detail == HEALTH_VITALS) {
        nvml_vitals(device->nvml, &health->now);
        return;
    }
    nvml_health(device->nvml, health);
    health->numa_node = device->numa_node;
    memcpy(health->local_cores, device->local_cores, sizeof health->local_cores);
}
