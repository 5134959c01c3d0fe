/* The health of the host that the CPU device runs on. */
#pragma once

#include "harness/device/types/health.h"

/* Fills in what Linux reports: clock of the first core now and at most, temperature of the
 * processor. Virtual machines report little of it. `root` comes before /proc and /sys: "" is this
 * machine. */
void host_health(const char *root, struct device_health *health);
