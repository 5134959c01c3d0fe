/* The readings of the driver's management library about a GPU.
 *
 * libnvidia-ml.so.1 comes with the driver and is opened when it is asked for; its header is no part
 * of every toolkit, so nvml.c declares what it needs ("NVML API Reference Guide", and nvml.h as
 * NVIDIA/go-nvml publishes it). Every function of it but nvmlInit_v2 is optional, and any may
 * refuse: a virtual or divided GPU knows less than a whole one, and a GPU that is lost answers
 * nothing any more. Unanswered readings stay unknown.
 *
 * GPUs are found by their PCI address, which is the same for CUDA and for NVML: indices are not,
 * since CUDA's follow CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER. An instance of a divided GPU
 * (MIG) has the address of the whole. */
#pragma once

#include "harness/device/peer.h"
#include "harness/device/types/health.h"

struct nvml;

/* The GPU at `pci_address` ("00000000:65:00.0"). NULL only when memory is out: without the library
 * or the GPU it opens too, and its readings say why they are empty. */
struct nvml *nvml_open(const char *pci_address);
void nvml_close(struct nvml *nvml); /* NULL is allowed */

/* Fills what is answered and leaves the rest of *vitals and *health as it is. */
void nvml_vitals(struct nvml *nvml, struct device_vitals *vitals);
void nvml_health(struct nvml *nvml, struct device_health *health);

/* The link to the GPU at another address: what it is, and why copies over it are not direct.
 * Likewise. */
void nvml_link(struct nvml *nvml, const char *peer_address, struct device_link *link);

/* The driver's release, "580.65.06"; false, and "", where the library does not say. Needs no
 * GPU. */
bool nvml_driver_release(char *text, size_t size);
