/* All figures are medians over the pairs, with the intervals of such medians. A promise is met or
 * missed only if its whole interval is on one side of the bound; anything else is undecided, and
 * so are intervals of too few pairs, except for counts that must be the same in every repetition.
 * The worst outcome among the promises gives the verdict. Before any of it, the losses of both
 * variants must agree: otherwise they do not train the same, and times mean nothing. */
#include "harness/lab/experiment/verdict.h"

#include "harness/base/figures/statistics.h"
#include "harness/base/rows.h"
#include "harness/base/words/text.h"
#include "harness/lab/experiment/result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One metric of all repetitions of both variants. */
struct series {
    double *value[VARIANT_COUNT], *factor;
    int count, first; /* pairs, and how many there were at the first look (stats_looked_interval) */
};

static void series_release(struct series *series)
{
    for (int v = 0; v < VARIANT_COUNT; v++) free(series->value[v]);
    free(series->factor);
}

static enum status series_take(struct series *series, const struct scenario_result *result,
                               enum metric metric, enum direction direction)
{
    int pairs = result->pairs;
    double **value = series->value;

    *series = (struct series){ .count = pairs, .first = result->protocol.repetitions };
    TRY(rows_make(&series->factor, pairs));
    for (int v = 0; v < VARIANT_COUNT; v++) {
        TRY(rows_make(&value[v], pairs));
        for (int i = 0; i < pairs; i++) value[v][i] = result->repetitions[v][i].metric[metric];
    }
    stats_paired_factors(value[direction == SHRINKS ? VARIANT_BEFORE : VARIANT_AFTER],
                         value[direction == SHRINKS ? VARIANT_AFTER : VARIANT_BEFORE], pairs,
                         series->factor);

    return STATUS_OK;
}

static struct confidence_interval series_interval(const double *values, const struct series *series)
{
    return stats_looked_interval(values, series->count, series->first, EXTRA_PAIRS);
}

static void effect_of(struct effect *effect, const struct series *series)
{
    struct confidence_interval interval = series_interval(series->factor, series);

    effect->before = stats_median(series->value[VARIANT_BEFORE], series->count);
    effect->after = stats_median(series->value[VARIANT_AFTER], series->count);
    effect->factor = stats_median(series->factor, series->count);
    effect->low = interval.low;
    effect->high = interval.high;
    effect->coverage = interval.coverage;
}

/* The headline: the effect on the step time. */
static enum status measure_step_time(struct scenario_result *result)
{
    enum status status = STATUS_OK;
    struct series series = { 0 };

    TRY_OUT(series_take(&series, result, METRIC_STEP_TIME, SHRINKS));
    effect_of(&result->step_time, &series);

out:
    series_release(&series);
    return status;
}

/* --- Losses --- */

enum loss_check verdict_loss_check(const struct scenario_result *result)
{
    enum loss_check check = result->scenario->loss;
    bool fp32 = result->fp32[VARIANT_BEFORE] && result->fp32[VARIANT_AFTER];

    if (result->protocol.aa)
        return LOSS_IDENTICAL;
    return check == LOSS_ORDER && !fp32 ? LOSS_16_BIT : check;
}

/* NaN if a loss is not finite. */
static double pair_difference(const float *before, const float *after)
{
    double largest = 0, size = 0;

    for (int step = 0; step < LOSS_STEPS; step++) {
        double a = (double)before[step], b = (double)after[step];
        if (!isfinite(a) || !isfinite(b))
            return NAN;
        largest = fmax(largest, fabs(a - b));
        size = fmax(size, fmax(fabs(a), fabs(b)));
    }
    return size > 0 ? largest / size : 0;
}

/* Fills in loss_difference: the largest difference of two losses, divided by the largest loss in
 * the first steps of their pair. It is not divided by each loss alone: a rounded logit moves the
 * cross-entropy by the same amount whether or not the sample is already learned, so a small loss is
 * not as precise relative to itself. A loss that is not finite agrees with nothing. */
static void compare_losses(struct scenario_result *result)
{
    double *difference = &result->loss_difference;

    *difference = 0;
    for (int i = 0; i < result->pairs && !isnan(*difference); i++) {
        double here = pair_difference(result->repetitions[VARIANT_BEFORE][i].losses,
                                      result->repetitions[VARIANT_AFTER][i].losses);
        if (!(here <= *difference)) /* also if it is NaN */
            *difference = here;
    }
    result->losses_agree = *difference <= loss_checks[verdict_loss_check(result)].tolerance;
}

/* --- Expectations --- */

/* Takes the worse of two outcomes, with its reason. NOT_MET is worse than UNDECIDED. */
static void worsen(struct expectation_result *result, enum outcome outcome, const char *reason)
{
    bool worse = outcome == OUTCOME_NOT_MET ? result->outcome != OUTCOME_NOT_MET
                                            : result->outcome == OUTCOME_MET;

    if (outcome == OUTCOME_MET || !worse)
        return;
    result->outcome = outcome;
    snprintf(result->reason, sizeof result->reason, "%s", reason);
}

/* Whether a whole interval is within `least` .. `most` (0: no bound). */
static enum outcome keeps(const struct confidence_interval *interval, double least, double most)
{
    if ((least > 0 && interval->high < least) || (most > 0 && interval->low > most))
        return OUTCOME_NOT_MET;
    if ((!(least > 0) || interval->low >= least) && (!(most > 0) || interval->high <= most))
        return OUTCOME_MET;
    return OUTCOME_UNDECIDED;
}

/* More pairs would only tell a small factor from none. */
static bool is_futile(const struct expectation *expectation,
                      const struct confidence_interval *interval)
{
    return expectation->worth > 0 && stats_interval_is_enough(interval) &&
           interval->high < expectation->worth;
}

/* Judges a figure by its interval. `measured` says what it is, and `expected` the bounds. */
static void judge_interval(struct expectation_result *result, const char *measured,
                           const char *expected, const struct confidence_interval *interval,
                           int pairs, double least, double most)
{
    enum outcome outcome = keeps(interval, least, most);
    char reason[sizeof result->reason];

    if (outcome == OUTCOME_UNDECIDED && is_futile(result->expectation, interval))
        outcome = OUTCOME_NOT_MET;
    if (!result->expectation->exact && !stats_interval_is_enough(interval)) {
        outcome = OUTCOME_UNDECIDED;
        snprintf(reason, sizeof reason,
                 "%s, expected %s; %d pairs give no 95%% interval, use --repetitions 6 or more",
                 measured, expected, pairs);
    } else {
        snprintf(reason, sizeof reason, "%s, expected %s%s", measured, expected,
                 outcome == OUTCOME_UNDECIDED
                     ? "; too noisy to say: use more --repetitions or a quieter machine"
                     : "");
    }
    worsen(result, outcome, reason);
}

static void judge_factor(struct expectation_result *result, int pairs)
{
    const struct expectation *expectation = result->expectation;
    const struct effect *effect = &result->effect;
    const struct confidence_interval interval = { effect->low, effect->high, effect->coverage };
    double least = expectation_least(expectation);
    struct change_text change = effect_words(effect, expectation->metric, expectation->direction);
    char measured[160], expected[96];

    if (!(least > 0 || expectation->at_most > 0))
        return;
    snprintf(measured, sizeof measured, "%s: %s%s%s%s", metric_name(expectation->metric),
             change.effect, change.interval[0] != '\0' ? " (" : "", change.interval,
             change.interval[0] != '\0' ? ")" : "");
    effect_bounds(expected, sizeof expected, expectation->metric, expectation->direction, least,
                  expectation->at_most);
    judge_interval(result, measured, expected, &interval, pairs, least, expectation->at_most);
}

/* Judges a bound on the metric itself, in one variant. */
static void judge_variant(struct expectation_result *result, enum variant variant,
                          const struct series *series, double least, double most)
{
    struct confidence_interval interval = series_interval(series->value[variant], series);
    char measured[160], expected[64];

    if (!(least > 0 || most > 0))
        return;
    snprintf(measured, sizeof measured, "%s %s is %.4g (%s%.4g to %.4g)",
             metric_name(result->expectation->metric), variant_name(variant),
             stats_median(series->value[variant], series->count),
             stats_interval_is_enough(&interval) ? "" : "all ", interval.low, interval.high);
    snprintf(expected, sizeof expected, "at %s %.4g", least > 0 ? "least" : "most",
             least > 0 ? least : most);
    judge_interval(result, measured, expected, &interval, series->count, least, most);
}

static void judge_sameness(struct expectation_result *result, const struct series *series)
{
    char reason[sizeof result->reason];

    for (int v = 0; v < VARIANT_COUNT; v++) {
        double low = stats_percentile(series->value[v], series->count, 0);
        double high = stats_percentile(series->value[v], series->count, 100);
        snprintf(reason, sizeof reason,
                 "%s %s varies from %.9g to %.9g, but must be identical in all repetitions",
                 metric_name(result->expectation->metric), variant_name((enum variant)v), low,
                 high);
        worsen(result, low == high ? OUTCOME_MET : OUTCOME_NOT_MET, reason);
    }
}

static enum status judge_expectation(struct expectation_result *result,
                                     const struct expectation *expectation,
                                     const struct scenario_result *all)
{
    enum status status = STATUS_OK;
    struct series series = { 0 };
    const char *name = metric_name(expectation->metric);

    *result = (struct expectation_result){ .expectation = expectation, .outcome = OUTCOME_MET };
    TRY_OUT(series_take(&series, all, expectation->metric, expectation->direction));
    effect_of(&result->effect, &series);
    if (!where_holds(expectation->where, &all->device)) {
        result->outcome = OUTCOME_NOT_BOUND;
        snprintf(result->reason, sizeof result->reason, "%s: nothing is expected on this device",
                 name);
    } else if (isnan(result->effect.factor)) {
        result->outcome = OUTCOME_UNDECIDED;
        snprintf(result->reason, sizeof result->reason, "%s was not measured in every repetition",
                 name);
    } else {
        if (expectation->exact)
            judge_sameness(result, &series);
        judge_factor(result, all->pairs);
        judge_variant(result, VARIANT_BEFORE, &series, expectation->before_above, 0);
        judge_variant(result, VARIANT_AFTER, &series, 0, expectation->after_below);
    }

out:
    series_release(&series);
    return status;
}

/* --- The whole --- */

/* Collects the reasons of all expectations with an outcome; returns their number. */
static int reasons_of(struct scenario_result *result, enum outcome outcome)
{
    int count = 0;

    for (int i = 0; i < result->expectation_count; i++) {
        if (result->expectations[i].outcome != outcome)
            continue;
        text_append(result->reason, sizeof result->reason, "%s%s", count > 0 ? "; " : "",
                    result->expectations[i].reason);
        count++;
    }
    return count;
}

static bool something_is_expected(const struct scenario_result *result)
{
    for (int i = 0; i < result->expectation_count; i++)
        if (result->expectations[i].outcome != OUTCOME_NOT_BOUND &&
            !result->expectations[i].expectation->is_cost)
            return true;
    return false;
}

/* A bottleneck can disappear if other programs take the cores: work that should overlap shares the
 * one core that is left. Then a time that does not change says little. Exact metrics do not depend
 * on other programs. */
static bool others_may_hide_it(const struct scenario_result *result)
{
    for (int i = 0; i < result->expectation_count; i++)
        if (result->expectations[i].outcome == OUTCOME_NOT_MET &&
            result->expectations[i].expectation->exact)
            return false;
    return cpu_loss_is_large(&result->cpu_loss) || result->cpu_quota > 0;
}

/* Other programs may be at fault for what a child skips once it has measured, for what takes too
 * long, and for what is undecided: they are named first. */
void verdict_blame_others(struct scenario_result *result)
{
    char taken[96], reason[sizeof result->reason];
    bool has_measured = result->settings[VARIANT_BEFORE][0] != '\0';

    if ((result->verdict == VERDICT_SKIPPED && !has_measured) ||
        !cpu_loss_is_large(&result->cpu_loss))
        return;
    cpu_loss_print(taken, sizeof taken, &result->cpu_loss);
    memcpy(reason, result->reason, sizeof reason);
    result->verdict = VERDICT_UNDECIDED;
    snprintf(
        result->reason, sizeof result->reason,
        "%s meanwhile, so this cannot be told: use a quieter machine; doctor says what disturbs "
        "this one. Apart from that: %.300s",
        taken, reason);
}

/* The verdict on what the scenario promises, from the outcomes of its expectations. */
static void conclude_promises(struct scenario_result *result)
{
    if (reasons_of(result, OUTCOME_NOT_MET) > 0) {
        result->verdict = others_may_hide_it(result) ? VERDICT_UNDECIDED : VERDICT_NOT_REPRODUCED;
    } else if (reasons_of(result, OUTCOME_UNDECIDED) > 0) {
        result->verdict = VERDICT_UNDECIDED;
    } else if (!something_is_expected(result)) {
        result->verdict = VERDICT_SKIPPED;
        snprintf(result->reason, sizeof result->reason,
                 "nothing is expected of this scenario on %s", result->device.name);
    } else {
        result->verdict = VERDICT_REPRODUCED;
    }
}

/* The reason why an A/A comparison found no sameness. */
static void explain_difference(struct scenario_result *result,
                               const struct confidence_interval *interval, double least)
{
    const char *name = metric_name(METRIC_STEP_TIME), *note;

    if (isnan(result->step_time.factor)) {
        snprintf(result->reason, sizeof result->reason, "%s was not measured in every repetition",
                 name);
        return;
    }
    if (result->verdict == VERDICT_DIFFERENT)
        note = "a false alarm: does anything else run on this machine?";
    else if (stats_interval_is_enough(interval))
        note = "too noisy to say: use more --repetitions or a quieter machine";
    else
        note = "too few pairs for a 95% interval: use --repetitions 6 or more";
    snprintf(result->reason, sizeof result->reason,
             "the settings are the same, but %s of side 1 over side 2 is %.4g (%.4g to %.4g); no "
             "difference would be within %.4g to %.4g; %s",
             name, result->step_time.factor, interval->low, interval->high, 1 / least, least, note);
}

/* The verdict of A/A: whether the same settings look different. */
static void conclude_sameness(struct scenario_result *result)
{
    static const enum verdict verdicts[] = {
        [CHANGE_UNDECIDED] = VERDICT_UNDECIDED,
        [CHANGE_NONE] = VERDICT_NO_DIFFERENCE,
        [CHANGE_LARGER] = VERDICT_DIFFERENT,
        [CHANGE_SMALLER] = VERDICT_DIFFERENT,
    };
    const struct effect *effect = &result->step_time;
    const struct confidence_interval interval = { effect->low, effect->high, effect->coverage };
    const double least = 1 + LEAST_EFFECT_PERCENT / 100.0;

    result->verdict = verdicts[stats_change(&interval, least)];
    if (result->verdict != VERDICT_NO_DIFFERENCE)
        explain_difference(result, &interval, least);
}

static void conclude_verdict(struct scenario_result *result)
{
    size_t room = sizeof result->reason;

    result->reason[0] = '\0';
    if (result->pairs == 0) {
        result->verdict = VERDICT_FAILED;
        snprintf(result->reason, room, "no pair of repetitions was completed");
    } else if (isnan(result->loss_difference)) {
        result->verdict = VERDICT_FAILED;
        snprintf(result->reason, room,
                 "a loss in the first %d steps is not finite, so the variants cannot be compared",
                 LOSS_STEPS);
    } else if (!result->losses_agree) {
        result->verdict = VERDICT_FAILED;
        snprintf(
            result->reason, room,
            "%s do not compute the same: their losses differ by a relative %.3g in the first %d "
            "steps, and only %.3g is allowed",
            result->protocol.aa ? "two runs with the same settings" : "before and after",
            result->loss_difference, LOSS_STEPS, loss_checks[verdict_loss_check(result)].tolerance);
    } else if (result->protocol.aa) {
        conclude_sameness(result);
    } else {
        conclude_promises(result);
    }
    if (result->verdict == VERDICT_UNDECIDED)
        verdict_blame_others(result);
    if (result->verdict == VERDICT_UNDECIDED && result->cpu_quota > 0)
        text_append(result->reason, room,
                    "; a control group's quota of %.3g core%s stops all threads once it is used up",
                    result->cpu_quota, result->cpu_quota == 1 ? "" : "s");
}

enum status verdict_give(struct scenario_result *result)
{
    const struct repetition *before = result->repetitions[VARIANT_BEFORE];
    const struct repetition *after = result->repetitions[VARIANT_AFTER];
    const struct scenario *scenario = result->scenario;
    int promised = result->protocol.aa ? 0 : SCENARIO_EXPECTATIONS;

    TRY(measure_step_time(result));
    result->expectation_count = 0;
    for (int i = 0; i < promised && !expectation_is_end(&scenario->expect[i]); i++) {
        TRY(judge_expectation(&result->expectations[i], &scenario->expect[i], result));
        result->expectation_count++;
    }
    compare_losses(result);
    result->damaged_samples = 0;
    for (int i = 0; i < result->pairs; i++) {
        if (before[i].damaged_samples > result->damaged_samples)
            result->damaged_samples = before[i].damaged_samples;
        if (after[i].damaged_samples > result->damaged_samples)
            result->damaged_samples = after[i].damaged_samples;
    }
    conclude_verdict(result);

    return STATUS_OK;
}
