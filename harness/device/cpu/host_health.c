/* The health of the CPU device: clocks, temperature and the like. Facts that Linux states in small
 * files; on virtual machines most of them are missing. */
#include "harness/device/cpu/host_health.h"

#include "harness/base/facts/system_file.h"
#include "harness/base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLOCKS "/sys/devices/system/cpu/cpu0/cpufreq/"

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
        if (!system_file_line(root, path, line, sizeof line))
            continue;
        for (size_t s = 0; s < ARRAY_SIZE(sensors); s++)
            is_processor = is_processor || strcmp(line, sensors[s]) == 0;
        snprintf(path, sizeof path, "/sys/class/hwmon/hwmon%d/temp1_input", i);
        if (is_processor && system_file_line(root, path, line, sizeof line)) {
            health->now.temperature_c = atof(line) / 1e3;
            return;
        }
    }
}

void host_health(const char *root, struct device_health *health)
{
    char line[64];

    snprintf(health->source, sizeof health->source, "Linux");
    if (system_file_line(root, CLOCKS "scaling_cur_freq", line, sizeof line))
        health->now.clock_mhz = atof(line) / 1e3;
    if (system_file_line(root, CLOCKS "cpuinfo_max_freq", line, sizeof line))
        health->clock_max_mhz = atof(line) / 1e3;
    read_temperature(root, health);
}
