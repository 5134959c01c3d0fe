/* A result in few words, for tables and for sentences below them. Each row is a metric's medians on
 * both sides and its change, each as a short text; each note is a sentence, or nothing. */
#include "harness/lab/result/result_summary.h"

#include "harness/base/words/text.h"
#include "harness/lab/experiment/result.h"

#include <math.h>
#include <stdio.h>

static struct summary_row row_of(enum metric metric, const struct effect *effect,
                                 enum direction direction,
                                 const struct expectation_result *expectation)
{
    struct summary_row row = { .measure = metric_name(metric), .expectation = expectation };

    quantity_print(row.before, effect->before, metric_unit(metric));
    quantity_print(row.after, effect->after, metric_unit(metric));
    row.change = effect_words(effect, metric, direction);
    return row;
}

/* An expectation that is bound to other devices promises nothing here: it has no row. */
static bool is_bound(const struct expectation_result *expectation)
{
    return expectation->outcome != OUTCOME_NOT_BOUND;
}

int summary_rows(const struct scenario_result *result, struct summary_row rows[SUMMARY_ROWS])
{
    const struct expectation_result *of_step_time = NULL;
    int count = 0;

    if (result->pairs == 0)
        return 0;
    for (int i = 0; i < result->expectation_count && of_step_time == NULL; i++)
        if (is_bound(&result->expectations[i]) &&
            result->expectations[i].expectation->metric == METRIC_STEP_TIME)
            of_step_time = &result->expectations[i];
    rows[count++] = of_step_time == NULL
                        ? row_of(METRIC_STEP_TIME, &result->step_time, SHRINKS, NULL)
                        : row_of(METRIC_STEP_TIME, &of_step_time->effect,
                                 of_step_time->expectation->direction, of_step_time);
    for (int i = 0; i < result->expectation_count; i++) {
        const struct expectation_result *expectation = &result->expectations[i];
        if (is_bound(expectation) && expectation != of_step_time)
            rows[count++] = row_of(expectation->expectation->metric, &expectation->effect,
                                   expectation->expectation->direction, expectation);
    }
    return count;
}

void summary_expectation(char *text, size_t size, const struct expectation *expectation)
{
    char words[128];

    effect_bounds(words, sizeof words, expectation->metric, expectation->direction,
                  expectation->at_least, expectation->at_most);
    snprintf(text, size, "%s: %s", metric_name(expectation->metric), words);
    if (expectation->before_above > 0)
        text_append(text, size, ", above %g before", expectation->before_above);
    if (expectation->after_below > 0)
        text_append(text, size, ", below %g after", expectation->after_below);
}

bool summary_is_unmet(const struct expectation_result *expectation)
{
    return expectation->outcome == OUTCOME_NOT_MET || expectation->outcome == OUTCOME_UNDECIDED;
}

void summary_change(char *text, size_t size, const struct scenario_result *result)
{
    const struct scenario *scenario = result->scenario;
    bool aa = result->protocol.aa;

    snprintf(text, size, "%s %s -> %s%s", scenario->knob, scenario->before,
             aa ? scenario->before : scenario->after, aa ? " (A/A)" : "");
}

const char *summary_side(const struct scenario_result *result, enum variant variant)
{
    if (result->protocol.aa)
        return variant == VARIANT_BEFORE ? "side 1" : "side 2";
    return variant_name(variant);
}

bool summary_throttled(char *text, size_t size, const struct scenario_result *result)
{
    int throttled = 0, windows = 0;
    char limits[64];

    for (int v = 0; v < VARIANT_COUNT; v++)
        for (int i = 0; i < result->pairs; i++) {
            const struct device_vitals *vitals = result->repetitions[v][i].vitals;
            int by = vitals_throttled(&vitals[0], &vitals[1]);
            throttled |= by;
            windows += by != 0;
        }
    snprintf(text, size, "%d of %d windows %s throttled (%s); they still count", windows,
             VARIANT_COUNT * result->pairs, windows == 1 ? "was" : "were",
             health_limits_print(limits, sizeof limits, throttled));
    return windows > 0;
}

bool summary_disturbed(char *text, size_t size, const struct scenario_result *result)
{
    char taken[96];

    if (result->pairs == 0) /* A child that ends at once is shorter than the kernel's ticks. */
        return false;
    cpu_loss_print(taken, sizeof taken, &result->cpu_loss);
    snprintf(text, size, "%s during the measurement, which may have affected the result", taken);
    return cpu_loss_is_large(&result->cpu_loss);
}

bool summary_quota(char *text, size_t size, const struct scenario_result *result)
{
    snprintf(text, size,
             "a control group's quota of %.3g core%s stops all threads once it is used up: give it "
             "no quota, or bind to fewer cores",
             result->cpu_quota, result->cpu_quota == 1 ? "" : "s");
    return result->verdict == VERDICT_UNDECIDED && result->cpu_quota > 0;
}

summary_note *const summary_notes[SUMMARY_NOTES] = { summary_throttled, summary_disturbed,
                                                     summary_quota };

void summary_counts(char *text, size_t size, const struct scenario_result *results, int count)
{
    bool first = true;

    snprintf(text, size, "%d scenario%s", count, count == 1 ? "" : "s");
    for (int verdict = 0; verdict < VERDICT_COUNT; verdict++) {
        int of_it = 0;
        for (int i = 0; i < count; i++) of_it += results[i].verdict == (enum verdict)verdict;
        if (of_it == 0)
            continue;
        text_append(text, size, "%s%d %s", first ? ": " : ", ", of_it,
                    verdict_name((enum verdict)verdict));
        first = false;
    }
}
