/* A pair of repetitions: a training run of each variant, both open at once, warmed up, timed in short
 * slices that alternate, and torn down.
 *
 * A machine's speed drifts: cores share power, caches and units with what others run, clocks follow heat.
 * Slices of 10 ms in the order ABBA put both variants under the same drift; longer ones do so less (on a
 * 2-core machine the ratio of the same steps to themselves had a standard deviation of 7.6% in 20 pairs
 * of 2 slices of 40 ms, 3.7% in 4 slices of 20 ms, 1.4% in 8 of 10 ms). Only one run works at a time:
 * while the other is timed its device work is done and its loader workers rest, with what they had ready.
 *
 * What the runs allocate is each one's own, so the peaks are those of one run alone; the device must hold
 * both, or each is a "pair" of its own. The number of steps is chosen once a scenario, from the
 * first pair, which does not count: then both variants train on the same samples in every
 * repetition. A window, all slices of a variant together, is a whole number of periods of
 * everything periodic in either variant, so that it never holds one loss read more or less. */
#ifndef HARNESS_EXPERIMENT_CHILD_WINDOW_H
#define HARNESS_EXPERIMENT_CHILD_WINDOW_H

#include "harness/experiment/result.h"
#include "scenarios/training/step/training.h"

enum { WINDOW_FIRST_STEPS = 4 }; /* of a run, not timed: graphs are captured in the third */

struct window_plan {
    int64_t steps;  /* of a slice */
    int64_t slices; /* of a window: even; together a multiple of period */
    int64_t period; /* in steps, of both variants together */
    double seconds; /* about what a window lasts */
};

/* The steps of the fewest whole periods that hold `steps`. */
int64_t window_whole_periods(int64_t steps, int64_t period);

/* Fills in `steps` and `slices` for `count` variants whose steps take step_ns: a slice lasts about 10 ms
 * on average over them and has at least 3 steps; a window lasts about `seconds` and has at least two
 * slices. */
void window_plan_steps(struct window_plan *plan, const double *step_ns, int count);

/* The repetition that does not count: opens, finds how long a step takes once it is warm, closes. */
enum status window_pilot(struct device *device, const struct training_config *config,
                         const struct window_plan *plan, double *step_ns);

/* One variant of a pair. */
struct window_run {
    const struct training_config *config;
    struct repetition *repetition; /* owns its step_ns on success and nothing on failure */
    struct training *training;     /* NULL before and after */
    struct training_window window; /* all 0 before and after */
};

/* The repetitions of `count` (1 or 2) runs, the first of which is opened and timed first. Warm-up ends
 * when two consecutive windows of a quarter's length agree within 5%, or after four of them. On failure
 * `failed` is the index of the run that failed, or -1. */
enum status window_pair(struct window_run *runs, int count, struct device *device,
                        const struct window_plan *plan, int *failed);

#endif
