#include "harness/cli/machine/doctor_soak.h"

#include "harness/base/figures/quantity.h"
#include "harness/base/words/text.h"
#include "harness/bench/interrupt.h"
#include "harness/fleet/devices/soak.h"
#include "harness/lab/experiment/parent/progress.h"

#include <math.h>

enum { LINE_SIZE = 256 };

static void put_part(char line[LINE_SIZE], const struct soak_part *part)
{
    char time[QUANTITY_SIZE];

    if (part->iterations == 0)
        return;
    quantity_print(time, part->step_ns[part->iterations - 1] / 1000, "us");
    text_append(line, LINE_SIZE, ", %s %s", part->precision, time);
    if (part->differing > 0)
        text_append(line, LINE_SIZE, " (%lld differ)", (long long)part->differing);
}

static void put_readings(char line[LINE_SIZE], const struct soak_readings *readings)
{
    const struct device_vitals *now = &readings->last.now;
    char limits[96];

    if (isfinite(now->clock_mhz))
        text_append(line, LINE_SIZE, ", %.0f MHz", now->clock_mhz);
    if (isfinite(now->temperature_c))
        text_append(line, LINE_SIZE, ", %.0f C", now->temperature_c);
    if (isfinite(now->power_w))
        text_append(line, LINE_SIZE, ", %.0f W", now->power_w);
    if (readings->limits >= 0)
        text_append(line, LINE_SIZE, ", throttled: %s",
                    health_limits_print(limits, sizeof limits, readings->limits));
    if (soak_new_errors(readings) >= 0)
        text_append(line, LINE_SIZE, ", ECC %lld", (long long)soak_new_errors(readings));
}

static void show(void *context, const struct soak *soak)
{
    const struct progress *progress = context;
    char line[LINE_SIZE] = "";
    int64_t iterations = 0;

    for (int i = 0; i < SOAK_PARTS; i++) iterations += soak->parts[i].iterations;
    text_append(line, sizeof line, "soak: %lld iterations", (long long)iterations);
    for (int i = 0; i < SOAK_PARTS; i++) put_part(line, &soak->parts[i]);
    put_readings(line, &soak->readings);
    progress_show(progress, fmin(soak->seconds / soak->planned_seconds, 1), "%s", line);
}

enum status doctor_soak(struct checks *checks, struct device *device, double seconds)
{
    enum status status = STATUS_OK;
    struct progress progress = progress_start(1);
    struct soak soak = { .seconds = 0 };
    const struct soak_plan plan = {
        .seconds = seconds, .stop = interrupt_flag(), .progress = show, .context = &progress
    };

    interrupt_catch();
    TRY_OUT(soak_run(&soak, device, &plan));
    progress_clear(&progress);
    soak_check(checks, &soak, device_properties(device));

out:
    soak_release(&soak);
    return status;
}
