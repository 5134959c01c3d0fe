/* Trains one configuration of the training step for some steps and measures it.
 *
 * The windows are those of the experiment (training_window): the host's clock, synchronised with
 * the device, around steps that nothing disturbs. The loss is read between windows. */
#pragma once

#include "harness/device/device.h"
#include "harness/engine/step/training.h"

struct measurement {
    int64_t steps, samples;      /* of all windows */
    double seconds;              /* of all windows */
    double cpu_seconds;          /* the same in processor time of the whole process */
    double energy_per_sample;    /* J, as the device counts; NaN: it does not */
    double metric[METRIC_COUNT]; /* per step over all windows; the largest peak. The 95th percentile
                                    and the variation are those of all single steps together */
    double step_p50;         /* us, of all single steps; NaN with fewer than two steps per window */
    double loss;             /* of the last step */
    double accuracy;         /* on held-out samples; NaN: not asked for */
    int64_t damaged_samples; /* replaced */
    uint32_t damaged_files;  /* that they were of, or of held-out samples */
    char first_damaged[512]; /* path of the first file; "": none */
    int64_t warmup_steps;    /* before the first window; they are not timed */
    int64_t steps_trained; /* with the warm-up, and those before a saved state that it began with */
    struct status_error log_error;  /* why the log ended before the training; OK: it did not */
    struct status_error save_error; /* why the state could not be saved at the end; OK: it is */
    bool interrupted;               /* fewer steps than were asked for, and no accuracy */
};

/* Called once before the first window, with the numbers of the warm-up's first and last step,
 * from 1. May be NULL. */
typedef void measure_warmed_up(void *context, int64_t first, int64_t last);

/* Called after each window with the steps trained so far, the samples per second and the step time
 * (us) of that window, and the loss of its last step. May be NULL. */
typedef void measure_report(void *context, int64_t step, double samples_per_second,
                            double step_time, double loss);

struct measure {
    int64_t steps; /* to time; 0: as many as take about `seconds` */
    double seconds;
    int windows; /* that the steps are divided into */
    bool evaluate;
    measure_warmed_up *warmed_up;
    measure_report *report;
    void *context;
};

/* Warms up, then measures, and saves the state at the end where the settings name a folder for it.
 * `config` is resolved. An interrupt ends the process until its first warm-up is done or, where the
 * state is saved, begins. After that it ends the measurement, whose figures are then of the steps
 * so far; INTERRUPTED: there are none. */
enum status measure_training(struct measurement *measurement, struct device *device,
                             const struct training_config *config, const struct measure *measure);

double measurement_steps_per_second(const struct measurement *measurement);
