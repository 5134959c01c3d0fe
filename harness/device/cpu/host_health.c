#include "harness/device/cpu/host_health.h"

#include "harness/base/status.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first line of a file; false when there is none. */
static bool read_line(const char *root, const char *path, char *line, size_t size)
{
    char name[PATH_MAX];
    bool found;
    FILE *file;

    snprintf(name, sizeof name, "%s%s", root, path);
    file = fopen(name, "re");
    if (file == NULL)
        return false;
    found = fgets(line, (int)size, file) != NULL;
    fclose(file);
    line[found ? strcspn(line, "\n") : 0] = '\0';
    return found;
}

static void read_clocks(const char *root, struct device_health *health)
{
    static const char folder[] = "/sys/devices/system/cpu/cpu0/cpufreq";
    char path[128], line[64];

    snprintf(path, sizeof path, "%s/scaling_cur_freq", folder);
    if (read_line(root, path, line, sizeof line))
        health->now.clock_mhz = atof(line) / 1e3;
    snprintf(path, sizeof path, "%s/cpuinfo_max_freq", folder);
    if (read_line(root, path, line, sizeof line))
        health->clock_max_mhz = atof(line) / 1e3;
}

/* Sensors of processors by the names of their drivers ("Documentation/hwmon" of Linux); in
 * thousandths of a degree. */
static void read_temperature(const char *root, struct device_health *health)
{
    static const char *const sensors[] = { "coretemp", "k10temp", "zenpower", "cpu_thermal" };
    enum { MONITORS_MOST = 32 };
    char path[128], line[64];

    for (int i = 0; i < MONITORS_MOST; i++) {
        bool is_processor = false;
        snprintf(path, sizeof path, "/sys/class/hwmon/hwmon%d/name", i);
        if (!read_line(root, path, line, sizeof line))
            continue;
        for (size_t s = 0; s < ARRAY_SIZE(sensors); s++)
            is_processor = is_processor || strcmp(line, sensors[s]) == 0;
        snprintf(path, sizeof path, "/sys/class/hwmon/hwmon%d/temp1_input", i);
        if (is_processor && read_line(root, path, line, sizeof line)) {
            health->now.temperature_c = atof(line) / 1e3;
            return;
        }
    }
}

void host_health(const char *root, struct device_health *health)
{
    snprintf(health->source, sizeof health->source, "Linux");
    read_clocks(root, health);
    read_temperature(root, health);
}
