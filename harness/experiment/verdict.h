/* The verdict: what the repetitions say about what the scenario promises.
 *
 * Each expectation is judged by the interval of its paired factors, never by the median alone: it is
 * met when the whole interval keeps its bounds, not met when the whole interval breaks one, else
 * undecided. The scenario is then
 *   failed          when the variants do not compute the same thing,
 *   not reproduced  when an expectation is not met,
 *   undecided       when one is undecided,
 *   skipped         when nothing but costs is expected of this device, and
 *   reproduced      otherwise.
 *
 * In A/A both sides had the same settings. Then expectations are left out, the losses must be
 * identical whatever the scenario allows, and the interval of the step time alone says
 *   different       when all of it lies beyond the least effect (LEAST_EFFECT_PERCENT),
 *   no difference   when all of it lies within, and
 *   undecided       otherwise. */
#ifndef HARNESS_EXPERIMENT_VERDICT_H
#define HARNESS_EXPERIMENT_VERDICT_H

#include "harness/experiment/result.h"

/* Effect of a metric over `pairs` paired repetitions, `first` of which were judged before there were
 * more. No pairs: all NaN. OUT_OF_MEMORY. */
enum status effect_measure(struct effect *effect, const struct repetition *before,
                           const struct repetition *after, int pairs, int first, enum metric metric,
                           enum direction direction);

/* Largest difference of two losses over the largest loss of their pair's first steps, and whether it is
 * within what `check` allows. Not over each loss: a rounded logit moves the cross-entropy by as much
 * whether the sample is already learned or not, so what is left of a small loss has no such precision. A
 * loss that is not finite agrees with nothing. */
bool losses_compare(enum loss_check check, const struct repetition *before,
                    const struct repetition *after, int pairs, double *difference);

/* What applies to a result: of A/A the same bits; LOSS_ORDER is for products of fp32 only, and a sum of
 * fewer bits rounds as LOSS_16_BIT allows, in whatever order. */
enum loss_check verdict_loss_check(const struct scenario_result *result);

/* Fills in step_time, the expectations, the losses, damaged_samples, verdict and reason from scenario,
 * device, pairs and repetitions. With no pairs the verdict is failed. */
enum status verdict_give(struct scenario_result *result);

#endif
