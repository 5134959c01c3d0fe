/* The verdict: whether the repetitions keep what the scenario promises.
 *
 * Each expectation is judged by the interval of its paired factors, never by the median alone. It
 * is met when the whole interval is within its bounds, not met when the whole interval is outside
 * of one, and undecided otherwise. The scenario is then
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
#pragma once

#include "harness/lab/experiment/result.h"

/* The check that applies to a result. A/A asks for identical losses. LOSS_ORDER becomes LOSS_16_BIT
 * unless both variants compute in fp32: sums of fewer bits differ that much in another order. */
enum loss_check verdict_loss_check(const struct scenario_result *result);

/* Fills in step_time, expectations, losses, damaged_samples, verdict and reason. Reads scenario,
 * protocol, device, fp32, pairs and repetitions. Without pairs the verdict is failed. */
enum status verdict_give(struct scenario_result *result);

/* A scenario that was skipped once its process had measured, whose process took too long, or that
 * is undecided anyway, is undecided if others used the cores meanwhile: the reason begins with
 * that. */
void verdict_blame_others(struct scenario_result *result);
