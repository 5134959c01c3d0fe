/* Keeps a device under load and watches whether it stays right and fast. The two precisions run one
 * iteration after the other until the time is over. Each iteration starts from the same state, and
 * those that differ from the first one are counted (repeat.h).
 *
 * A precision that the device cannot run is given up alone, so that the other still tells
 * something. */
#include "harness/fleet/devices/soak.h"

#include "harness/base/clock.h"
#include "harness/base/facts/cpu_times.h"
#include "harness/base/figures/statistics.h"
#include "harness/base/rows.h"
#include "harness/engine/settings/knobs.h"
#include "harness/engine/step/repeat.h"
#include "harness/lab/doctor/host/host.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Generated sequences need no file. A GPU is given ViT-B's width and depth, in batches of which
 * both precisions together take some 14 GB, and which keep it busy; the CPU device a step of about
 * a millisecond. Settings that repeat.h refuses are the healthy ones anyway, but for
 * launch=auto. */
static const char settings[] = "data=sequences input=loaded launch=eager loss_every=1024";
static const char large_settings[] = "model=heavy batch=32", small_settings[] = "model=balanced";

static const char *const precisions[SOAK_PARTS] = { "fp32", "bf16" };

/* A part and its training, while it runs. */
struct load {
    struct soak_part *part;
    struct training *training;
    struct repeat *repeat; /* NULL: it does not run, or not any more */
};

static enum status open_load(struct load *load, struct device *device, const char *more)
{
    const struct device_properties *properties = device_properties(device);
    struct training_config config;

    knobs_defaults(&config);
    TRY(knobs_apply(&config, settings));
    TRY(knobs_apply(&config, properties->is_large ? large_settings : small_settings));
    TRY(knobs_apply(&config, more != NULL ? more : ""));
    TRY(knob_set(&config, "precision", load->part->precision));
    TRY(knobs_resolve(&config, properties));
    TRY(training_open(&load->training, device, &config));
    TRY(repeat_open(&load->repeat, load->training, SOAK_STEPS));
    load->part->tensors = repeat_tensors(load->repeat);

    return STATUS_OK;
}

static void close_load(struct load *load)
{
    repeat_close(load->repeat);
    training_close(load->training);
    load->repeat = NULL;
    load->training = NULL;
}

/* Its memory is free for the other again. Before the load runs, it is no failure if the device
 * lacks memory or an ability. */
static void give_up(struct load *load)
{
    const struct status_error *error = status_last();
    struct soak_part *part = load->part;

    snprintf(part->trouble, sizeof part->trouble, "%s", error->text);
    part->failed = load->repeat != NULL || error->status == STATUS_DEVICE_ERROR ||
                   error->status == STATUS_INTERNAL;
    close_load(load);
}

/* OUT_OF_MEMORY; what the device fails at ends the load. */
static enum status iterate(struct load *load)
{
    struct soak_part *part = load->part;
    struct tensor_difference difference;
    int64_t begin_ns = clock_ns();

    if (repeat_run(load->repeat, &difference) != STATUS_OK) {
        give_up(load);
        return STATUS_OK;
    }
    TRY(rows_grow(&part->step_ns, part->iterations + 1, &part->room));
    part->step_ns[part->iterations++] = (double)(clock_ns() - begin_ns) / SOAK_STEPS;
    if (difference.step == 0)
        return STATUS_OK;
    if (part->differing++ == 0) {
        part->first = part->iterations;
        part->difference = difference;
    }

    return STATUS_OK;
}

enum { READING_NS = 1000000000 };

/* In turns until the time is over, with a reading and a word about the progress every second. */
static enum status run_loads(struct soak *soak, struct device *device,
                             struct load loads[SOAK_PARTS], const struct soak_plan *plan)
{
    int64_t begin_ns = clock_ns(), read_ns = begin_ns;
    struct device_health health = device_health(device);
    bool over;

    soak_readings_begin(&soak->readings, &health);
    do {
        for (int i = 0; i < SOAK_PARTS; i++)
            if (loads[i].repeat != NULL)
                TRY(iterate(&loads[i]));
        soak->seconds = (double)(clock_ns() - begin_ns) * 1e-9;
        /* It is over early once every part has been given up. */
        bool runs = false;
        for (int i = 0; i < SOAK_PARTS; i++) runs = runs || loads[i].repeat != NULL;
        over = !runs || soak->seconds >= plan->seconds || (plan->stop != NULL && *plan->stop != 0);
        if (!over && clock_ns() - read_ns < READING_NS)
            continue;
        health = device_health(device);
        soak_readings_add(&soak->readings, &health);
        if (plan->progress != NULL)
            plan->progress(plan->context, soak);
        read_ns = clock_ns();
    } while (!over);

    return STATUS_OK;
}

enum status soak_run(struct soak *soak, struct device *device, const struct soak_plan *plan)
{
    enum status status = STATUS_OK;
    struct load loads[SOAK_PARTS] = { { 0 } };
    struct cpu_times first, second;
    struct cpu_loss loss;

    *soak = (struct soak){ .planned_seconds = plan->seconds };
    cpu_times_read(&first, "");
    for (int i = 0; i < SOAK_PARTS; i++) {
        soak->parts[i].precision = precisions[i];
        loads[i].part = &soak->parts[i];
        if (open_load(&loads[i], device, plan->settings) != STATUS_OK)
            give_up(&loads[i]);
    }
    TRY_OUT(run_loads(soak, device, loads, plan));
    cpu_times_read(&second, "");
    loss = cpu_loss_between(&first, &second);
    /* Only a device that computes on the cores of the host can be slowed down by others there. */
    soak->disturbed = device_properties(device)->shares_host_cores && disturbance_matters(&loss);

out:
    for (int i = 0; i < SOAK_PARTS; i++) close_load(&loads[i]);
    if (status != STATUS_OK)
        soak_release(soak);
    return status;
}

void soak_release(struct soak *soak)
{
    for (int i = 0; i < SOAK_PARTS; i++) {
        free(soak->parts[i].step_ns);
        soak->parts[i].step_ns = NULL;
    }
}

double soak_step_ns(const struct soak_part *part)
{
    return part->iterations > 0 ? stats_median(part->step_ns, (int)part->iterations) : NAN;
}

/* The last tenth of the iterations against the first; NAN if a tenth is too few for a median. */
double soak_drift(const struct soak_part *part)
{
    enum { TENTHS = 10, EACH_LEAST = 5 };
    int tenth = (int)(part->iterations / TENTHS);

    if (tenth < EACH_LEAST)
        return NAN;
    return stats_median(part->step_ns + part->iterations - tenth, tenth) /
               stats_median(part->step_ns, tenth) -
           1;
}
