#include "harness/device/cuda/pci.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pci_address(char address[PCI_ADDRESS], int domain, int bus, int device)
{
    snprintf(address, PCI_ADDRESS, "%08x:%02x:%02x.0", (unsigned)domain, (unsigned)bus,
             (unsigned)device);
}

/* "Documentation/ABI/testing/sysfs-bus-pci" of Linux. */
void pci_locality(const char *root, int domain, int bus, int device, int *numa_node, char *cores,
                  size_t size)
{
    static const char *const names[] = { "numa_node", "local_cpulist" };
    char path[PATH_MAX], line[2][96] = { "-1", "" };

    for (int i = 0; i < 2; i++) {
        FILE *file;
        snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%04x:%02x:%02x.0/%s", root,
                 (unsigned)domain, (unsigned)bus, (unsigned)device, names[i]);
        file = fopen(path, "re");
        if (file == NULL)
            continue;
        if (fgets(line[i], sizeof line[i], file) != NULL)
            line[i][strcspn(line[i], "\n")] = '\0';
        fclose(file);
    }
    *numa_node = atoi(line[0]);
    snprintf(cores, size, "%s", line[1]);
}
