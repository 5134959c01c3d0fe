/* The device under load for as long as is asked for: does it compute the same each time, and does
 * it stay fast?
 *
 * The load is the training step, in fp32 and in bf16 in turns. An iteration goes back to the first
 * state and trains the same few steps on the same samples; every tensor of every step is compared,
 * bit for bit, with the first iteration (repeat.h). Batches come from host memory, so the link is
 * used too. */
#pragma once

#include "harness/checks/checks.h"
#include "harness/device/device.h"
#include "harness/engine/model/ops/tensor_sums.h"

#include <signal.h>

enum { SOAK_PARTS = 2, SOAK_STEPS = 4 /* of an iteration */ };

/* One precision. */
struct soak_part {
    const char *precision; /* "fp32" */
    char trouble[400];     /* why it was not soaked, or not to the end; "": it was */
    bool failed;           /* the trouble is an error of the device */
    int tensors;           /* that an iteration compares */
    int64_t iterations, differing;
    int64_t first;                       /* iteration that differs, from 1 on; 0: none does */
    struct tensor_difference difference; /* of that one */
    double *step_ns;                     /* [iterations], the mean of each one's steps; malloc'd */
    int64_t room;
};

/* A GPU over all readings under load: clocks, temperature, power, throttling, errors of its
 * memory; unknown as in health.h. */
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

struct soak {
    struct soak_part parts[SOAK_PARTS];
    struct soak_readings readings;
    double seconds, planned_seconds;
    bool disturbed; /* the device shares the host's cores, and others used them meanwhile */
};

struct soak_plan {
    double seconds;
    /* of the training step (knobs.h), over those that fit the device; NULL: none */
    const char *settings;
    const volatile sig_atomic_t *stop;                        /* not 0: end now; NULL: never */
    void (*progress)(void *context, const struct soak *soak); /* about once a second; NULL: none */
    void *context;
};

/* Soaks for so long, at least one iteration of each precision. Errors of the device end the
 * precision that meets them and are noted there. OUT_OF_MEMORY. */
enum status soak_run(struct soak *soak, struct device *device, const struct soak_plan *plan);
void soak_release(struct soak *soak);

/* The median time per step, and by how much the last tenth of the iterations was slower than the
 * first (0.1: it took 10% longer); NAN where there are none, or too few to tell. */
double soak_step_ns(const struct soak_part *part);
double soak_drift(const struct soak_part *part);

/* Adds the rows. `properties` are the device's. */
void soak_check(struct checks *checks, const struct soak *soak,
                const struct device_properties *properties);
