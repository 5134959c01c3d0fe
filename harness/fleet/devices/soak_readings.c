#include "harness/fleet/devices/soak_readings.h"

#include <math.h>
#include <stdio.h>

enum { HOT_C = 85 };

void soak_readings_begin(struct soak_readings *readings, const struct device_health *health)
{
    *readings = (struct soak_readings){
        .first = *health,
        .last = *health,
        .clock_min_mhz = NAN,
        .clock_max_mhz = NAN,
        .temperature_max_c = NAN,
        .power_max_w = NAN,
        .limits = -1,
    };
}

static bool throttling_is_known(const struct device_vitals *now)
{
    return now->limits >= 0 || isfinite(now->power_limited_ns) || isfinite(now->thermal_limited_ns);
}

void soak_readings_add(struct soak_readings *readings, const struct device_health *health)
{
    const struct device_vitals *now = &health->now;
    struct device_vitals before = readings->first.now;

    before.limits = -1; /* Limits on the clocks before the load do not matter. */
    readings->count++;
    readings->last = *health;
    /* These ignore a NAN among the two. */
    readings->clock_min_mhz = fmin(readings->clock_min_mhz, now->clock_mhz);
    readings->clock_max_mhz = fmax(readings->clock_max_mhz, now->clock_mhz);
    readings->temperature_max_c = fmax(readings->temperature_max_c, now->temperature_c);
    readings->power_max_w = fmax(readings->power_max_w, now->power_w);
    if (throttling_is_known(now))
        readings->limits =
            (readings->limits < 0 ? 0 : readings->limits) | vitals_throttled(&before, now);
}

int64_t soak_new_errors(const struct soak_readings *readings)
{
    if (readings->count == 0 || readings->first.ecc_uncorrected < 0 ||
        readings->last.ecc_uncorrected < 0)
        return -1;
    return readings->last.ecc_uncorrected - readings->first.ecc_uncorrected;
}

static void check_clock(struct checks *checks, const struct soak_readings *readings,
                        const char *why)
{
    char highest[32] = "";

    if (isnan(readings->clock_min_mhz)) {
        checks_unknown(checks, "soak_clock", "", why);
        return;
    }
    if (isfinite(readings->last.clock_max_mhz))
        snprintf(highest, sizeof highest, " of %.0f", readings->last.clock_max_mhz);
    checks_number(checks, readings->clock_min_mhz * 1e6, NAN, "Hz");
    checks_add(checks, "soak_clock", CHECK_OK, "", "", "%.0f to %.0f%s MHz",
               readings->clock_min_mhz, readings->clock_max_mhz, highest);
}

static void check_heat(struct checks *checks, const struct soak_readings *readings, const char *why)
{
    if (isnan(readings->temperature_max_c)) {
        checks_unknown(checks, "soak_temperature", "below 85 C", why);
    } else {
        checks_number(checks, readings->temperature_max_c, HOT_C, "C");
        checks_add(checks, "soak_temperature",
                   readings->temperature_max_c < HOT_C ? CHECK_OK : CHECK_LOW, "below 85 C",
                   "near this the clock is held down: look after cooling", "%.0f C at most",
                   readings->temperature_max_c);
    }
    if (isnan(readings->power_max_w)) {
        checks_unknown(checks, "soak_power", "", why);
    } else {
        checks_number(checks, readings->power_max_w, NAN, "W");
        checks_add(checks, "soak_power", CHECK_OK, "", "", "%.0f W at most", readings->power_max_w);
    }
}

static void check_throttle(struct checks *checks, const struct soak_readings *readings,
                           const char *why)
{
    char limits[96];

    if (readings->limits < 0) {
        checks_unknown(checks, "soak_throttle", "none", why);
        return;
    }
    checks_add(checks, "soak_throttle",
               readings->limits & (LIMIT_THERMAL | LIMIT_HARDWARE) ? CHECK_FAIL
               : readings->limits != 0                             ? CHECK_LOW
                                                                   : CHECK_OK,
               "none",
               "the GPU held its clock down under load: look after cooling and power supply, or "
               "raise the limit (nvidia-smi -pl)",
               "%s", health_limits_print(limits, sizeof limits, readings->limits));
}

static void check_errors(struct checks *checks, const struct soak_readings *readings,
                         const char *why)
{
    int64_t errors = soak_new_errors(readings);

    if (readings->last.ecc == 0) {
        checks_unknown(
            checks, "soak_ecc", "no new uncorrected error",
            "error correction is off: wrong bits of the memory show in soak_*_bits only");
        return;
    }
    if (errors < 0) {
        checks_unknown(checks, "soak_ecc", "no new uncorrected error", why);
        return;
    }
    checks_number(checks, (double)errors, 0, "errors");
    checks_add(checks, "soak_ecc", errors > 0 ? CHECK_FAIL : CHECK_OK, "no new uncorrected error",
               "the memory gave wrong bits: drain this GPU, reset it (nvidia-smi -r), and have it "
               "replaced if it happens again",
               "%lld new uncorrected", (long long)errors);
}

void soak_readings_check(struct checks *checks, const struct soak_readings *readings, bool is_gpu)
{
    static const char *const names[] = { "soak_clock", "soak_temperature", "soak_power",
                                         "soak_throttle", "soak_ecc" };
    const char *why = readings->count == 0                ? "nothing was read"
                      : readings->last.trouble[0] != '\0' ? readings->last.trouble
                                                          : "the driver does not say";

    if (!is_gpu || readings->count == 0) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            checks_add(checks, names[i], CHECK_NONE, "",
                       is_gpu ? why : "the CPU device is not a GPU", "-");
        return;
    }
    check_clock(checks, readings, why);
    check_heat(checks, readings, why);
    check_throttle(checks, readings, why);
    check_errors(checks, readings, why);
}
