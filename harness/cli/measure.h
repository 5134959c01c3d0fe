/* One configuration of the training step, trained for some steps and measured.
 *
 * Windows are those of the experiment (training_window): a synchronised host clock around steps that
 * nobody disturbs. The loss is read between windows. */
#ifndef HARNESS_CLI_MEASURE_H
#define HARNESS_CLI_MEASURE_H

#include "harness/device/device.h"
#include "scenarios/training/step/training.h"

struct measurement {
    int64_t steps, samples; /* of all windows */
    double seconds;         /* of all windows */
    double
        metric[METRIC_COUNT]; /* per step over all windows; peaks: the largest. The 95th percentile
                                    and the variation are of all single steps together */
    double step_p50;          /* us, of all single steps; NaN with fewer than two steps a window */
    double loss;              /* of the last step */
    double accuracy;          /* on held-out samples; NaN: not asked for */
    int64_t damaged_samples;
    int64_t steps_trained; /* with the warm-up */
};

/* Called after each window: the steps trained so far, that window's samples per second and step time in
 * us, and the loss of its last step. May be NULL. */
typedef void measure_report(void *context, int64_t step, double samples_per_second,
                            double step_time, double loss);

struct measure {
    int64_t steps;  /* to time; 0: as many as take `seconds` */
    double seconds; /* about */
    int windows;    /* that the steps are cut into */
    bool evaluate;
    measure_report *report;
    void *context;
};

/* `config` is resolved. Warms up, then measures. */
enum status measure_training(struct measurement *measurement, struct device *device,
                             const struct training_config *config, const struct measure *measure);

double measurement_steps_per_second(const struct measurement *measurement);

#endif
