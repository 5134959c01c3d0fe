/* The rows of a soak. */
#include "harness/base/figures/quantity.h"
#include "harness/fleet/devices/soak.h"

#include <math.h>
#include <stdio.h>

enum { DRIFT_PERCENT = 10 };

/* "soak_fp32_bits" */
static const char *row_name(char name[40], const struct soak_part *part, const char *what)
{
    snprintf(name, 40, "soak_%s_%s", part->precision, what);
    return name;
}

static void check_time(struct checks *checks, const struct soak *soak)
{
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
    check_time(checks, soak);
    for (int i = 0; i < SOAK_PARTS; i++) check_part(checks, soak, &soak->parts[i]);
    soak_readings_check(checks, &soak->readings, properties->is_gpu);
}
