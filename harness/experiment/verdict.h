/* The verdict: whether the repetitions keep what the scenario promises.
 *
 * Each expectation is judged by the interval of its paired factors, never by the median alone. It is
 * met when the whole interval is within its bounds, not met when the whole interval is outside of one,
 * and undecided otherwise. The scenario is then
 *   failed          when the variants do not compute the same thing,
 *   not reproduced  when an expectation is not met,
 *   undecided       when one is undecided,
 *   skipped         when nothing but costs is expected of this device, and
 *   reproduced      otherwise.
 *
 * In A/A both sides have the same settings. There are no expectations then, the losses must be
 * identical whatever the scenario allows, and the interval of the step time decides alone:
 *   different       when all of it is beyond the least effect (LEAST_EFFECT_PERCENT),
 *   no difference   when all of it is within, and
 *   undecided       otherwise. */
#ifndef HARNESS_EXPERIMENT_VERDICT_H
#define HARNESS_EXPERIMENT_VERDICT_H

#include "harness/experiment/result.h"

/* The effect of a metric over `pairs` paired repetitions. The first `first` pairs were judged before more
 * were added, which widens the interval (stats_looked_interval). No pairs: all NaN. OUT_OF_MEMORY. */
enum status effect_measure(struct effect *effect, const struct repetition *before,
                           const struct repetition *after, int pairs, int first, enum metric metric,
                           enum direction direction);

/* Whether the losses agree as `check` asks. `difference` is the largest difference of two losses, divided
 * by the largest loss in the first steps of their pair. It is not divided by each loss alone: a rounded
 * logit moves the cross-entropy by the same amount whether or not the sample is already learned, so a
 * small loss is not as precise relative to itself. A loss that is not finite agrees with nothing. */
bool losses_compare(enum loss_check check, const struct repetition *before,
                    const struct repetition *after, int pairs, double *difference);

/* The check that applies to a result. A/A asks for identical losses. LOSS_ORDER becomes LOSS_16_BIT
 * unless both variants compute in fp32: sums of fewer bits differ that much in another order. */
enum loss_check verdict_loss_check(const struct scenario_result *result);

/* Fills in step_time, expectations, losses, damaged_samples, verdict and reason. Reads scenario, protocol,
 * device, fp32, pairs and repetitions. Without pairs the verdict is failed. */
enum status verdict_give(struct scenario_result *result);

#endif
