/* A pair of repetitions: one training run per variant, both open at once, warmed up, timed in short
 * slices that alternate, and torn down.
 *
 * The speed of a machine drifts: cores share power, caches and units with other programs, and
 * clocks follow heat. Slices of 10 ms in the order ABBA put both variants under the same drift.
 * Longer slices do so less: on a 2-core machine the ratio of the same steps to themselves had a
 * standard deviation of 7.6% over 20 pairs of 2 slices of 40 ms, 3.7% with 4 slices of 20 ms,
 * and 1.4% with 8 slices of 10 ms. Only one run works at a time: while the other is timed, its
 * device work is done and its loader workers rest and keep what is ready.
 *
 * Each run has its own allocator, so the peaks are those of one run alone. If the device cannot
 * hold both runs, each becomes a "pair" of its own. The number of steps is chosen once per
 * scenario, from the first pair, which does not count; both variants then train on the same samples
 * in every repetition. A window is all slices of a variant together. It is a whole number of
 * periods of everything periodic in either variant, so that it never holds one loss read more or
 * less. */
#pragma once

#include "harness/engine/step/training.h"
#include "harness/lab/experiment/result.h"

enum { WINDOW_FIRST_STEPS = 4 }; /* not timed: graphs are captured in the third step of a run */

struct window_plan {
    int64_t steps;  /* of a slice */
    int64_t slices; /* of a window: even; together a multiple of period */
    int64_t period; /* in steps, of both variants together */
    double seconds; /* approximate length of a window */
    double longest; /* seconds that a window of four slices may last where it would have fewer */
};

/* `steps`, rounded up to whole periods. */
int64_t window_whole_periods(int64_t steps, int64_t period);

/* Fills in `steps` and `slices` for `count` variants whose steps take step_ns. A slice lasts about
 * 10 ms, averaged over the variants, and has at least 3 steps. A window lasts about `seconds` and
 * has at least two slices; it has four where they last no more than `longest`. */
void window_plan_steps(struct window_plan *plan, const double *step_ns, int count);

/* The repetition that does not count: opens a run, measures warm steps and closes the run. `metric`
 * becomes the metrics [METRIC_COUNT] of the fastest quarter of a window, because other load only
 * adds time. */
enum status window_pilot(struct device *device, const struct training_config *config,
                         const struct window_plan *plan, double *metric);

/* One variant of a pair. */
struct window_run {
    const char *name; /* of the variant, for profilers */
    const struct training_config *config;
    struct repetition *repetition; /* owns its step_ns on success and nothing on failure */
    struct training *training;     /* NULL before and after */
    struct training_window window; /* all 0 before and after */
};

/* Measures one repetition of each of `count` (1 or 2) runs. The first run is opened and timed
 * first. A profiler that waits for cudaProfilerStart captures the timed steps alone, all of both
 * runs in one range. Warm-up goes in quarters of a window; it ends when two in a row agree within
 * 5%, or after four. On failure `failed` is the index of the run that failed, or -1. */
enum status window_pair(struct window_run *runs, int count, struct device *device,
                        const struct window_plan *plan, int *failed);
