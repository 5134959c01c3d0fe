/* A climb alternates two steps. It traces the settings and goes through the findings in order until
 * one has a fix: a scenario that accepts the finding here, and whose knob is not yet where the fix
 * puts it. Then it measures that fix as a scenario of its own, keeps it if it helps, and traces
 * again. A fix that is refused because of another setting first needs that setting's own fix. At
 * last, values that lessons call wrong and no trace shows are measured together, as one block.
 *
 * All that takes time is asked of the probe, so that tests climb without training. */
#include "harness/lab/search/ladder.h"

#include "harness/base/words/text.h"
#include "harness/engine/settings/knobs.h"
#include "harness/engine/step/training.h"
#include "harness/lab/experiment/own_scenario.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* In place of the index of a scenario. */
enum { LADDER_BLOCK = LADDER_SCENARIOS };

/* --- Values of a knob --- */

/* The value that `config` has on the device. False: the device refuses the settings. */
static bool resolved_value(const struct training_config *config,
                           const struct device_properties *device, const char *knob,
                           char text[LADDER_VALUE])
{
    struct training_config resolved = *config;

    return knobs_resolve(&resolved, device) == STATUS_OK &&
           knob_get(&resolved, knob, text, LADDER_VALUE) == STATUS_OK;
}

/* The same once `knob` is set to `value`. */
static bool value_after(const struct training_config *config,
                        const struct device_properties *device, const char *knob, const char *value,
                        char text[LADDER_VALUE])
{
    struct training_config changed = *config;

    return knob_set(&changed, knob, value) == STATUS_OK &&
           resolved_value(&changed, device, knob, text);
}

/* Whether another value of the knob can change anything. */
static bool acts(const struct training_config *config, const struct device_properties *device,
                 const char *knob)
{
    struct training_config resolved = *config;
    char why[KNOB_WHY];

    return knobs_resolve(&resolved, device) == STATUS_OK && knob_acts(&resolved, knob, why);
}

/* --- The start --- */

static bool accepts(const struct scenario *scenario, const char *id,
                    const struct device_properties *device)
{
    for (int i = 0; i < SCENARIO_FINDINGS && scenario->accept[i].id != NULL; i++)
        if ((id == NULL || strcmp(scenario->accept[i].id, id) == 0) &&
            where_holds(scenario->accept[i].where, device))
            return true;
    return false;
}

/* Steps. Windows hold whole periods: new workers in every epoch of 128 steps, with a loss that is
 * read in every 20th, would make a rung take minutes. */
enum { PERIOD_MOST = 100 };

/* Whether a scenario's bottleneck can show in `config`, which shares no base with it: some need
 * micro-batches, padding, saving or fp16. */
static bool can_show(const struct scenario *scenario, const struct training_config *config,
                     const struct device_properties *device)
{
    struct training_config own, alone = *config;

    return acts(config, device, scenario->knob) &&
           knob_set(&alone, scenario->knob, scenario->before) == STATUS_OK &&
           knobs_resolve(&alone, device) == STATUS_OK &&
           training_period(&alone, 1) <= PERIOD_MOST &&
           scenario_config(scenario, VARIANT_AFTER, &own) == STATUS_OK &&
           own.launch.accumulate == config->launch.accumulate &&
           own.loader.batching.padding == config->loader.batching.padding &&
           own.saving.save_every == config->saving.save_every &&
           (own.model.precision != PRECISION_FP16 || config->model.precision == PRECISION_FP16);
}

/* Whether a scenario sets the knob on this device, and not for work that nobody asked for. */
static bool is_about(const struct scenario *scenario, const char *knob,
                     const struct device_properties *device)
{
    return strcmp(scenario->knob, knob) == 0 && !scenario->is_other_work &&
           where_holds(scenario->needs, device);
}

void ladder_set_all_wrong(struct training_config *config, const struct device_properties *device)
{
    struct training_config start = *config, wrong;

    if (knob_set(&start, "input", "decoded") != STATUS_OK)
        return;
    wrong = start;
    for (int i = 0; scenarios[i] != NULL; i++) {
        const struct scenario *scenario = scenarios[i];
        char ignored[LADDER_VALUE];
        bool is_set = false;

        for (int j = 0; j < i && !is_set; j++)
            is_set = is_about(scenarios[j], scenario->knob, device) &&
                     can_show(scenarios[j], &start, device);
        if (!is_set && is_about(scenario, scenario->knob, device) &&
            accepts(scenario, NULL, device) && can_show(scenario, &start, device) &&
            value_after(&wrong, device, scenario->knob, scenario->before, ignored))
            knob_set(&wrong, scenario->knob, scenario->before);
    }
    *config = wrong;
}

bool ladder_is_set(const struct training_config *config)
{
    struct training_config defaults;

    knobs_defaults(&defaults);
    for (int i = 0; scenarios[i] != NULL; i++) {
        char now[LADDER_VALUE], usual[LADDER_VALUE];
        if (knob_get(config, scenarios[i]->knob, now, sizeof now) == STATUS_OK &&
            knob_get(&defaults, scenarios[i]->knob, usual, sizeof usual) == STATUS_OK &&
            strcmp(now, usual) != 0)
            return true;
    }
    return false;
}

/* --- Choosing a fix --- */

static bool is_worth_a_rung(const struct finding *finding)
{
    return finding->severity >= SEVERITY_MAJOR ||
           (finding->severity == SEVERITY_MINOR && finding->once_fixed == NULL &&
            finding->predicted_gain >= 1 + LADDER_GAIN_PERCENT / 100.0);
}

/* Whether a scenario is of as many ranks: in a pipeline of several more micro-batches are a fix, on
 * one rank a fault. */
static bool is_of_its_ranks(const struct ladder *ladder, const struct scenario *scenario)
{
    struct training_config own;

    return scenario_config(scenario, VARIANT_AFTER, &own) == STATUS_OK &&
           own.ranks.count == ladder->config.ranks.count;
}

/* Whether `value` is where another scenario's fix leaves the knob: not a place to leave for this
 * one. */
static bool is_another_fix(const struct ladder *ladder, const char *knob, const char *value)
{
    for (int i = 0; scenarios[i] != NULL; i++) {
        char after[LADDER_VALUE];
        if (strcmp(scenarios[i]->knob, knob) == 0 && is_of_its_ranks(ladder, scenarios[i]) &&
            where_holds(scenarios[i]->needs, &ladder->device) &&
            value_after(&ladder->config, &ladder->device, knob, scenarios[i]->after, after) &&
            strcmp(after, value) == 0)
            return true;
    }
    return false;
}

/* Fills in the rung's knob if the fix of scenario `index` changes it. */
static bool changes(const struct ladder *ladder, int index, struct rung *rung)
{
    const struct scenario *scenario = scenarios[index];

    rung->fix = scenario;
    rung->changes = 1;
    snprintf(rung->knob, sizeof rung->knob, "%s", scenario->knob);
    return where_holds(scenario->needs, &ladder->device) && is_of_its_ranks(ladder, scenario) &&
           resolved_value(&ladder->config, &ladder->device, scenario->knob, rung->before) &&
           acts(&ladder->config, &ladder->device, scenario->knob) &&
           (!scenario->is_other_work || strcmp(rung->before, scenario->before) == 0) &&
           value_after(&ladder->config, &ladder->device, scenario->knob, scenario->after,
                       rung->after) &&
           strcmp(rung->before, rung->after) != 0;
}

/* Whether the knob of the rung has the value that its scenario calls wrong. */
static bool is_wrong(const struct ladder *ladder, const struct rung *rung)
{
    char before[LADDER_VALUE];

    return value_after(&ladder->config, &ladder->device, rung->fix->knob, rung->fix->before,
                       before) &&
           strcmp(before, rung->before) == 0;
}

/* Whether the settings have changed since rung `tried`, so that its fix may be tried again. */
static bool is_open(const struct ladder *ladder, int tried)
{
    return tried <= ladder->kept;
}

/* A fix that nobody asked for may cost no time and change no results. */
static bool is_free(const struct scenario *scenario)
{
    for (const struct expectation *e = scenario->expect; !expectation_is_end(e); e++)
        if (e->is_cost)
            return false;
    return scenario->loss == LOSS_IDENTICAL || scenario->loss == LOSS_ORDER;
}

/* Whether the fix of scenario `index` can be made for the finding. */
static bool has_fix(const struct ladder *ladder, int index, const struct finding *finding,
                    struct rung *rung)
{
    const struct scenario *scenario = scenarios[index];

    return is_open(ladder, ladder->tried[index]) &&
           accepts(scenario, finding->id, &ladder->device) && changes(ladder, index, rung) &&
           (is_wrong(ladder, rung) || !is_another_fix(ladder, scenario->knob, rung->before));
}

/* If the fix of scenario `index` is refused: the first scenario whose value before is named as the
 * reason, and whose own fix is left; -1: none. */
static int obstacle(const struct ladder *ladder, int index, const struct finding *finding,
                    struct rung *rung)
{
    const struct scenario *wanted = scenarios[index];
    char ignored[LADDER_VALUE], named[LADDER_VALUE + 48], refusal[sizeof status_last()->text];

    if (!is_open(ladder, ladder->tried[index]) || !where_holds(wanted->needs, &ladder->device) ||
        !accepts(wanted, finding->id, &ladder->device) ||
        value_after(&ladder->config, &ladder->device, wanted->knob, wanted->after, ignored) ||
        status_last()->status != STATUS_REFUSED)
        return -1;
    snprintf(refusal, sizeof refusal, "%s", status_last()->text);
    rung->needed_by = wanted;
    for (int s = 0; scenarios[s] != NULL; s++) {
        if (!is_open(ladder, ladder->tried_for_another[s]) ||
            strcmp(scenarios[s]->knob, wanted->knob) == 0 || !changes(ladder, s, rung))
            continue;
        snprintf(named, sizeof named, "%s=%s", scenarios[s]->knob, rung->before);
        if (strstr(refusal, named) != NULL)
            return s;
    }
    return -1;
}

static struct rung rung_for(const struct ladder *ladder, const struct finding *finding)
{
    struct rung rung = { .severity = SEVERITY_INFORMATION,
                         .predicted_gain = NAN,
                         .metric = METRIC_STEP_TIME,
                         .samples_per_second = ladder->samples_per_second };

    if (finding != NULL) {
        rung.finding = finding->id;
        rung.severity = finding->severity;
        rung.why_minor = finding_why_minor(finding);
        rung.predicted_gain = finding->predicted_gain;
        rung.gain_is_least = finding->gain_is_least;
        rung.gain_is_most = finding->gain_is_most;
    }
    return rung;
}

/* The first finding that has a fix. The index of its scenario, or -1. */
static int choose_found(const struct ladder *ladder, const struct findings *findings,
                        struct rung *rung)
{
    for (int64_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        for (int s = 0; is_worth_a_rung(finding) && scenarios[s] != NULL; s++) {
            *rung = rung_for(ladder, finding);
            int first = has_fix(ladder, s, finding, rung) ? s : obstacle(ladder, s, finding, rung);
            if (first >= 0)
                return first;
        }
    }
    return -1;
}

/* Adds the fix of scenario `index`, if the device takes it together with those that `config` has
 * already. */
static void add_unseen(const struct ladder *ladder, int index, struct training_config *config,
                       struct rung *block)
{
    const struct scenario *scenario = scenarios[index];
    struct training_config changed = *config, resolved;
    struct rung one;

    if (ladder->is_worse[index] || !is_free(scenario) || !changes(ladder, index, &one) ||
        !is_wrong(ladder, &one) || knob_set(&changed, one.knob, scenario->after) != STATUS_OK)
        return;
    resolved = changed;
    if (knobs_resolve(&resolved, &ladder->device) != STATUS_OK ||
        strlen(block->knob) + strlen(one.knob) + 1 >= sizeof block->knob ||
        strlen(block->before) + strlen(one.before) + 1 >= sizeof block->before ||
        strlen(block->after) + strlen(one.after) + 1 >= sizeof block->after)
        return;
    *config = changed;
    text_join(block->knob, sizeof block->knob, ",", "%s", one.knob);
    text_join(block->before, sizeof block->before, ",", "%s", one.before);
    text_join(block->after, sizeof block->after, ",", "%s", one.after);
    block->changes++;
}

/* The rung that undoes what is wrong and no finding names. If scenarios change the same knob, the
 * first one counts. */
static struct rung unseen_block(const struct ladder *ladder)
{
    struct training_config config = ladder->config;
    struct rung block = rung_for(ladder, NULL);

    for (int s = 0; scenarios[s] != NULL; s++) {
        bool has_knob = false;
        for (int t = 0; t < s && !has_knob; t++)
            has_knob = is_about(scenarios[t], scenarios[s]->knob, &ladder->device);
        if (!has_knob)
            add_unseen(ladder, s, &config, &block);
    }
    return block;
}

/* The next rung: the index of its scenario, LADDER_BLOCK, or -1: there is none. */
static int choose(struct ladder *ladder, const struct findings *findings, struct rung *rung)
{
    int scenario = choose_found(ladder, findings, rung);

    if (scenario >= 0 || !ladder->thorough || ladder->tried_unseen)
        return scenario;
    *rung = unseen_block(ladder);
    return rung->changes > 0 ? LADDER_BLOCK : -1;
}

/* --- Measuring it --- */

/* The fix of a finding that costs no time must improve what its scenario promises first, every
 * other one the step time. */
static struct own_change change_of(struct rung *rung, const struct device_properties *device)
{
    struct own_change change = { rung->knob,  rung->before,
                                 rung->after, METRIC_STEP_TIME,
                                 SHRINKS,     rung->fix != NULL ? rung->fix->loss : LOSS_ORDER };

    for (const struct expectation *e = rung->fix != NULL ? rung->fix->expect : NULL;
         e != NULL && isnan(rung->predicted_gain) && !expectation_is_end(e); e++)
        if (!e->is_cost && where_holds(e->where, device)) {
            change.metric = e->metric;
            change.direction = e->direction;
            break;
        }
    rung->metric = change.metric;
    return change;
}

static void take_result(struct ladder *ladder, struct rung *rung,
                        const struct scenario_result *result)
{
    struct training_config resolved = ladder->config;
    double per_step_us;

    rung->step_time = result->step_time;
    rung->losses_agree = result->losses_agree;
    rung->effect =
        result->expectation_count > 0 ? result->expectations[0].effect : result->step_time;
    rung->end = result->verdict == VERDICT_REPRODUCED ? RUNG_KEPT
                : isfinite(result->step_time.factor)  ? RUNG_TAKEN_BACK
                                                      : RUNG_FAILED;
    if (rung->end == RUNG_TAKEN_BACK && rung->needed_by != NULL && result->losses_agree &&
        rung->effect.high >= 1) {
        rung->end = RUNG_KEPT;
        snprintf(rung->reason, sizeof rung->reason,
                 "it is not measurably worse, and %s=%s is refused without it",
                 rung->needed_by->knob, rung->needed_by->after);
    } else if (rung->end == RUNG_TAKEN_BACK && result->losses_agree)
        snprintf(rung->reason, sizeof rung->reason, "%s",
                 rung->effect.high < 1                       ? "it is measurably worse"
                 : rung->effect.high >= rung->predicted_gain ? "the machine is too noisy to tell"
                                                             : "it does not measurably help");
    else if (rung->end != RUNG_KEPT)
        snprintf(rung->reason, sizeof rung->reason, "%s", result->reason);
    if (rung->end == RUNG_FAILED || knobs_resolve(&resolved, &ladder->device) != STATUS_OK)
        return;
    per_step_us = rung->end == RUNG_KEPT ? result->step_time.after : result->step_time.before;
    rung->samples_per_second = resolved.model.batch * 1e6 / per_step_us;
    if (isnan(ladder->first_samples_per_second))
        ladder->samples_per_second = ladder->first_samples_per_second =
            resolved.model.batch * 1e6 / result->step_time.before;
    if (rung->end == RUNG_KEPT)
        ladder->samples_per_second = rung->samples_per_second;
}

static enum status measure_rung(struct ladder *ladder, const struct ladder_probe *probe,
                                struct rung *rung, int scenario)
{
    enum status status = STATUS_OK;
    struct own_change change = change_of(rung, &ladder->device);
    struct scenario_result result = { .verdict = VERDICT_FAILED };
    struct own_scenario own;
    char base[OWN_SCENARIO_TEXT];
    double begin = probe->seconds(probe->context);

    TRY_OUT(knobs_print(&ladder->config, base, sizeof base));
    TRY_OUT(own_scenario_make(&own, "ladder", base, &change));
    TRY_OUT(probe->compare(probe->context, &own.scenario, scenario == LADDER_BLOCK,
                           ladder->budget_seconds - begin, &result));
    take_result(ladder, rung, &result);
    rung->seconds = probe->seconds(probe->context) - begin;
    ladder->rungs[ladder->count++] = *rung;
    if (scenario == LADDER_BLOCK) {
        ladder->tried_unseen = true;
    } else {
        (rung->needed_by != NULL ? ladder->tried_for_another : ladder->tried)[scenario] =
            ladder->count;
        ladder->is_worse[scenario] = rung->end == RUNG_TAKEN_BACK && rung->effect.high < 1;
    }
    if (rung->end == RUNG_KEPT) {
        TRY_OUT(rung->fix != NULL ? knob_set(&ladder->config, rung->knob, rung->fix->after)
                                  : scenario_set_each(&ladder->config, rung->knob, rung->after));
        ladder->kept = ladder->count;
    }
    if (probe->report != NULL)
        probe->report(probe->report_context, rung);

out:
    scenario_result_release(&result);
    return status;
}

/* --- Climbing --- */

static enum status diagnose_settings(struct ladder *ladder, const struct ladder_probe *probe,
                                     struct findings *findings)
{
    struct training_config resolved = ladder->config;
    struct own_scenario own;
    char base[OWN_SCENARIO_TEXT];
    double step_time_us = NAN;
    const struct own_change none = { "seed", "1", "1", METRIC_STEP_TIME, SHRINKS, LOSS_IDENTICAL };

    TRY(knobs_resolve(&resolved, &ladder->device));
    TRY(knobs_print(&ladder->config, base, sizeof base));
    TRY(own_scenario_make(&own, "ladder", base, &none));
    TRY(probe->diagnose(probe->context, &own.scenario, findings, &step_time_us));
    ladder->traces++;
    if (isnan(ladder->samples_per_second))
        ladder->samples_per_second = resolved.model.batch * 1e6 / step_time_us;

    return STATUS_OK;
}

/* The longest that a trace with one rung took so far. */
static bool has_time(const struct ladder *ladder, const struct ladder_probe *probe, double longest)
{
    return probe->seconds(probe->context) + longest <= ladder->budget_seconds;
}

/* Tries the fixes that are left with these findings until one is kept. */
static enum status try_fixes(struct ladder *ladder, const struct ladder_probe *probe,
                             const struct findings *findings, double *longest, bool *kept)
{
    struct rung rung;
    int scenario;

    *kept = false;
    while (!*kept) {
        scenario = choose(ladder, findings, &rung);
        if (scenario < 0)
            break;
        if (ladder->count == LADDER_RUNGS || !has_time(ladder, probe, *longest)) {
            ladder->end = LADDER_OUT_OF_TIME;
            return STATUS_OK;
        }
        TRY(measure_rung(ladder, probe, &rung, scenario));
        *kept = rung.end == RUNG_KEPT;
        *longest = fmax(*longest, rung.seconds);
    }
    ladder->end = ladder->left[0] != '\0' ? LADDER_NO_FIX_LEFT : LADDER_NOTHING_FOUND;

    return STATUS_OK;
}

enum status ladder_climb(struct ladder *ladder, const struct ladder_probe *probe)
{
    enum status status = STATUS_OK;
    struct findings findings = { .count = 0 };
    double longest = 0;
    bool kept = true;

    ladder->end = LADDER_STOPPED;
    ladder->first_samples_per_second = ladder->samples_per_second = NAN;
    while (kept) {
        double begin = probe->seconds(probe->context);
        if (!has_time(ladder, probe, longest)) {
            ladder->end = LADDER_OUT_OF_TIME;
            break;
        }
        ladder->end = LADDER_STOPPED;
        findings_release(&findings);
        findings = (struct findings){ .count = 0 };
        TRY_OUT(diagnose_settings(ladder, probe, &findings));
        longest = fmax(longest, probe->seconds(probe->context) - begin);
        ladder->left[0] = '\0';
        for (int64_t i = 0; i < findings.count; i++)
            if (is_worth_a_rung(&findings.items[i]))
                text_join(ladder->left, sizeof ladder->left, ", ", "%s", findings.items[i].id);
        TRY_OUT(try_fixes(ladder, probe, &findings, &longest, &kept));
        if (ladder->end == LADDER_OUT_OF_TIME)
            break;
    }

out:
    if (status != STATUS_OK)
        ladder->end = LADDER_STOPPED;
    if (!ladder->tried_unseen)
        ladder->unseen = unseen_block(ladder);
    ladder->seconds = probe->seconds(probe->context);
    findings_release(&findings);
    return status;
}
