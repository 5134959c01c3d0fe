/* The slot of a GPU, from Linux's /sys. */
#pragma once

#include <stddef.h>

/* "00000000:65:00.0": as NVML takes it. */
enum { PCI_ADDRESS = 32 };
void pci_address(char address[PCI_ADDRESS], int domain, int bus, int device);

/* The NUMA node of the slot and the cores near it ("0-15"); -1 and "" where Linux does not say.
 * `root` comes before /sys: "" is this machine. */
void pci_locality(const char *root, int domain, int bus, int device, int *numa_node, char *cores,
                  size_t size);

/* Between two NUMA nodes, as the firmware states it: 10 within a node (ACPI, "System Locality
 * Information Table"); -1: it does not, or a node is -1. */
int pci_numa_distance(const char *root, int from, int to);
