/* The result of a soak as rows of doctor: the time, each precision's bits and speed, and what the
 * GPU said of itself meanwhile, from readings once a second. */
#include "harness/base/figures/quantity.h"
#include "harness/fleet/devices/soak.h"

#include <math.h>
#include <stdio.h>

/* The bounds of two rows, whose texts repeat them. */
enum { DRIFT_PERCENT = 10, HOT_C = 85 };

/* --- Readings of the GPU --- */

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

/* Some GPUs state why the clock is held down now, some how long it was. */
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

/* -1: not known. */
int64_t soak_new_errors(const struct soak_readings *readings)
{
    if (readings->count == 0 || readings->first.ecc_uncorrected < 0 ||
        readings->last.ecc_uncorrected < 0)
        return -1;
    return readings->last.ecc_uncorrected - readings->first.ecc_uncorrected;
}

/* No bound: how far a clock falls under load depends on the GPU and its power limit. The row
 * check_throttle() adds says why. */
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

/* --- The soak --- */

/* "soak_fp32_bits" */
static const char *row_name(char name[40], const struct soak_part *part, const char *what)
{
    snprintf(name, 40, "soak_%s_%s", part->precision, what);
    return name;
}

static void check_bits(struct checks *checks, const struct soak_part *part)
{
    char name[40], advice[sizeof part->trouble];
    const struct tensor_difference *found = &part->difference;

    row_name(name, part, "bits");
    if (part->differing > 0) {
        snprintf(advice, sizeof advice,
                 "first in iteration %lld, step %d: %s, after %s; the device computed other bits "
                 "from the same data: take it out of use, look after its temperature, voltage and "
                 "memory, and soak it again",
                 (long long)part->first, found->step, found->tensor, found->after);
        checks_number(checks, (double)part->differing, 0, "iterations");
        checks_add(checks, name, CHECK_FAIL, "equal each time", advice, "%lld of %lld differ: %s",
                   (long long)part->differing, (long long)part->iterations, found->tensor);
    } else if (part->failed) {
        checks_add(checks, name, CHECK_FAIL, "equal each time", part->trouble, "failed");
    } else {
        checks_number(checks, 0, 0, "iterations");
        checks_add(checks, name, CHECK_OK, "equal each time", "", "equal, %d tensors",
                   part->tensors);
    }
}

static void check_speed(struct checks *checks, const struct soak *soak,
                        const struct soak_part *part)
{
    char name[40], time[QUANTITY_SIZE];
    double drift = soak_drift(part);

    quantity_print(time, soak_step_ns(part) / 1000, "us");
    checks_number(checks, soak_step_ns(part), NAN, "ns");
    checks_add(checks, row_name(name, part, "step"), CHECK_OK, "", "", "%s", time);
    row_name(name, part, "drift");
    if (isnan(drift)) {
        checks_unknown(checks, name, "at most 10% slower at the end",
                       "there were too few iterations to tell: soak for longer");
        return;
    }
    checks_number(checks, 100 * drift, DRIFT_PERCENT, "%");
    checks_add(checks, name,
               100 * drift <= DRIFT_PERCENT ? CHECK_OK
               : soak->disturbed            ? CHECK_NONE
                                            : CHECK_LOW,
               "at most 10% slower at the end",
               soak->disturbed
                   ? "others used the cores meanwhile, so this says nothing about the machine"
                   : "the last tenth was that much slower than the first: see soak_throttle and "
                     "soak_temperature, and look after cooling",
               "%+.1f%%", 100 * drift);
}

static void check_part(struct checks *checks, const struct soak *soak, const struct soak_part *part)
{
    static const char *const rows[] = { "steps", "bits", "step", "drift" };
    char name[40];

    /* It did not run, as the device lacks something for it: no row of it says anything. */
    if (part->iterations == 0 && !part->failed) {
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
            checks_unknown(checks, row_name(name, part, rows[i]), "", part->trouble);
        return;
    }
    checks_number(checks, (double)part->iterations * SOAK_STEPS, NAN, "steps");
    checks_add(checks, row_name(name, part, "steps"), CHECK_OK, "", "", "%lld iterations of %d",
               (long long)part->iterations, SOAK_STEPS);
    check_bits(checks, part);
    if (part->iterations > 0)
        check_speed(checks, soak, part);
}

void soak_check(struct checks *checks, const struct soak *soak,
                const struct device_properties *properties)
{
    checks->group = "soak";
    bool whole = soak->seconds >= soak->planned_seconds;
    int64_t iterations = 0;
    for (int i = 0; i < SOAK_PARTS; i++) iterations += soak->parts[i].iterations;
    checks_number(checks, soak->seconds, NAN, "s");
    checks_add(checks, "soak_time",
               iterations == 0 ? CHECK_FAIL
               : whole         ? CHECK_OK
                               : CHECK_LOW,
               "the time asked for",
               iterations == 0 ? "nothing was computed: see the rows below"
                               : "it ended early: the rows below are of this time",
               "%.1f of %.1f s", soak->seconds, soak->planned_seconds);
    for (int i = 0; i < SOAK_PARTS; i++) check_part(checks, soak, &soak->parts[i]);
    soak_readings_check(checks, &soak->readings, properties->is_gpu);
}
