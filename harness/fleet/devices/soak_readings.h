/* The readings of a GPU while it is soaked: clocks, temperature, power, throttling, errors of its
 * memory. */
#ifndef HARNESS_FLEET_DEVICES_SOAK_READINGS_H
#define HARNESS_FLEET_DEVICES_SOAK_READINGS_H

#include "harness/checks/checks.h"
#include "harness/device/types/health.h"

/* Over all readings under load; unknown as in health.h. */
struct soak_readings {
    int count;
    struct device_health first, last; /* the first one is from before the load */
    double clock_min_mhz, clock_max_mhz, temperature_max_c, power_max_w;
    int limits; /* LIMIT_* that were seen; -1: not known */
};

void soak_readings_begin(struct soak_readings *readings, const struct device_health *health);
void soak_readings_add(struct soak_readings *readings, const struct device_health *health);

/* Uncorrected errors that are new since the first reading; -1: not known. */
int64_t soak_new_errors(const struct soak_readings *readings);

/* A row each. An unknown reading is n/a, with the reason that the driver gives. */
void soak_readings_check(struct checks *checks, const struct soak_readings *readings, bool is_gpu);

#endif
