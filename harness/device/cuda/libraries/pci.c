/* Reads the small files that Linux has for each slot and each NUMA node. A file that is missing is
 * no error: the fact is unknown then. */
#include "harness/device/cuda/libraries/pci.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* A line of the file has a number per node that there is, in their order, and nodes may be
 * missing. */
int pci_numa_distance(const char *root, int from, int to)
{
    char path[PATH_MAX], line[1024] = "", *at = line;
    int place = 0, distance = -1;
    FILE *file;

    if (from < 0 || to < 0)
        return -1;
    for (int node = 0; node < to; node++) {
        snprintf(path, sizeof path, "%s/sys/devices/system/node/node%d", root, node);
        place += access(path, F_OK) == 0;
    }
    snprintf(path, sizeof path, "%s/sys/devices/system/node/node%d/distance", root, from);
    file = fopen(path, "re");
    if (file == NULL)
        return -1;
    if (fgets(line, sizeof line, file) == NULL)
        line[0] = '\0';
    fclose(file);
    for (int i = 0; i <= place; i++) {
        char *end;
        distance = (int)strtol(at, &end, 10);
        if (end == at)
            return -1;
        at = end;
    }
    return distance;
}
