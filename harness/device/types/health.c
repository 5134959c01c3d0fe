/* Unknown is NAN or -1, whatever the device; limits on the clocks are bits, with a name each for
 * files and pages. */
#include "harness/device/types/health.h"

#include "harness/base/status.h"
#include "harness/base/words/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define UNKNOWN(field) .field = NAN,
#define VITALS_UNKNOWN                                                                             \
    {                                                                                              \
        DEVICE_VITALS(UNKNOWN).limits = -1                                                         \
    }

const struct device_vitals device_vitals_unknown = VITALS_UNKNOWN;

const struct device_health device_health_unknown = {
    .now = VITALS_UNKNOWN,
    .clock_max_mhz = NAN,
    .memory_clock_max_mhz = NAN,
    .power_limit_w = NAN,
    .ecc = -1,
    .ecc_uncorrected = -1,
    .pcie_generation = -1,
    .pcie_generation_max = -1,
    .pcie_width = -1,
    .pcie_width_max = -1,
    .numa_node = -1,
    .mig = -1,
    .persistence = -1,
    .exclusive = -1,
    .other_processes = -1,
    .other_bytes = -1,
};

bool vitals_are_known(const struct device_vitals *vitals)
{
#define IS_KNOWN(field) isfinite(vitals->field) ||
    return DEVICE_VITALS(IS_KNOWN) vitals->limits >= 0;
#undef IS_KNOWN
}

int vitals_throttled(const struct device_vitals *first, const struct device_vitals *second)
{
    const int throttles = LIMIT_POWER | LIMIT_THERMAL | LIMIT_HARDWARE;
    int throttled = 0;

    if (first->limits >= 0)
        throttled |= first->limits & throttles;
    if (second->limits >= 0)
        throttled |= second->limits & throttles;
    /* A limit that was lifted between the two readings still shows in the counters of the time that
     * it held. */
    if (second->power_limited_ns > first->power_limited_ns)
        throttled |= LIMIT_POWER;
    if (second->thermal_limited_ns > first->thermal_limited_ns)
        throttled |= LIMIT_THERMAL;
    return throttled;
}

static const struct {
    int limit;
    const char *name;
} limit_names[] = {
    { LIMIT_IDLE, "idle" },       { LIMIT_SETTING, "setting" },   { LIMIT_POWER, "power" },
    { LIMIT_THERMAL, "thermal" }, { LIMIT_HARDWARE, "hardware" },
};

const char *health_limits_print(char *text, size_t size, int limits)
{
    snprintf(text, size, "%s", limits < 0 ? "unknown" : limits == 0 ? "none" : "");
    for (size_t i = 0; limits > 0 && i < ARRAY_SIZE(limit_names); i++)
        if (limits & limit_names[i].limit)
            text_join(text, size, ", ", "%s", limit_names[i].name);
    return text;
}

int health_limits_read(const char *text)
{
    int limits = 0;

    for (size_t i = 0; i < ARRAY_SIZE(limit_names); i++)
        if (strstr(text, limit_names[i].name) != NULL)
            limits |= limit_names[i].limit;
    return strcmp(text, "unknown") == 0 ? -1 : limits;
}
