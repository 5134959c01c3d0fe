/* One repetition: a training run of one variant, warmed up, timed over a window and torn down.
 *
 * The number of steps of a window is chosen once a scenario, from the first pair, which does not count:
 * then both variants train on the same samples in every repetition. A window is a whole number of
 * periods of everything periodic in either variant, so that it never holds one loss read more or less. */
#ifndef HARNESS_EXPERIMENT_WINDOW_H
#define HARNESS_EXPERIMENT_WINDOW_H

#include "harness/experiment/experiment.h"
#include "scenarios/training/training.h"

struct window_plan {
    int64_t steps;  /* of a window: a multiple of period */
    int64_t period; /* in steps, of both variants together */
    double seconds; /* about what a window lasts */
};

/* Steps after which everything periodic in any of `count` settings has come round. */
int64_t window_period(const struct training_config *configs, int count);

/* Steps of a window that lasts `seconds` on average over `count` variants whose steps take step_ns: a
 * whole number of periods, at least two of them, and at least 5 steps. */
int64_t window_steps(const double *step_ns, int count, int64_t period, double seconds);

/* The repetition that does not count: opens, finds how long a step takes once it is warm, closes. */
enum status window_pilot(struct device *device, const struct training_config *config,
                         int64_t period, double seconds, double *step_ns);

/* A repetition that counts. Warm-up ends when two consecutive windows of a quarter's length agree within
 * 5%, or after three windows' worth of steps. `repetition` owns its step_ns on success and nothing on failure. */
enum status window_repetition(struct repetition *repetition, struct device *device,
                              const struct training_config *config, const struct window_plan *plan);

#endif
