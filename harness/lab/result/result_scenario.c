/* Measurements have the members of result_members.h; all others are derived here. */
#include "harness/lab/result/result_scenario.h"

#include "harness/lab/experiment/result_members.h"
#include "harness/lab/experiment/verdict.h"
#include "harness/lab/result/result_file.h"
#include "harness/lab/result/result_findings.h"
#include "harness/lab/result/scenario_json.h"
#include "harness/lab/result/utilisation.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_interval(struct json *json, cJSON *to, const char *name,
                         const struct effect *effect)
{
    cJSON *interval;

    if (!isfinite(effect->low) || !isfinite(effect->high)) {
        json_text(json, to, name, NULL);
        return;
    }
    interval = json_array(json, to, name);
    json_number(json, interval, NULL, effect->low);
    json_number(json, interval, NULL, effect->high);
}

/* The headline: step_time in us, its factor and the factor's interval. */
static void add_headline(struct json *json, cJSON *object, const struct scenario_result *result)
{
    struct effect none = { NAN, NAN, NAN, NAN, NAN, NAN };
    const struct effect *effect = result->pairs > 0 ? &result->step_time : &none;
    cJSON *step_time;

    json_number(json, object, "effect", effect->factor);
    add_interval(json, object, "interval", effect);
    json_number(json, object, "coverage", effect->coverage);
    step_time = json_object(json, object, "step_time");
    json_number(json, step_time, "before", effect->before);
    json_number(json, step_time, "after", effect->after);
    json_text(json, step_time, "unit", metric_unit(METRIC_STEP_TIME));
    json_text(json, step_time, "clock", "CLOCK_MONOTONIC");
}

static void add_expectation(struct json *json, cJSON *expectations,
                            const struct expectation_result *result)
{
    cJSON *object = json_object(json, expectations, NULL);

    expectation_json(json, object, result->expectation);
    json_text(json, object, "outcome", outcome_name(result->outcome));
    json_text(json, object, "reason", result->reason);
    json_number(json, object, "before", result->effect.before);
    json_number(json, object, "after", result->effect.after);
    json_number(json, object, "effect", result->effect.factor);
    add_interval(json, object, "interval", &result->effect);
}

static void add_balance(struct json *json, cJSON *object, const struct scenario_result *result)
{
    const struct balance *wanted = &result->scenario->balance;
    cJSON *balance;

    if (wanted->kind == BALANCE_NONE) {
        json_text(json, object, "balance", NULL);
        return;
    }
    balance = json_object(json, object, "balance");
    json_text(json, balance, "kind", balances[wanted->kind].name);
    json_number(json, balance, "low", wanted->low);
    json_number(json, balance, "high", wanted->high);
    members_write(json, balance, balance_members, &result->balance);
}

/* Paths of the traces, relative to the result file, and the cost of tracing; null if none was asked
 * for. */
static void add_traces(struct json *json, cJSON *object, const struct scenario_result *result)
{
    cJSON *traces = json_object(json, object, "traces");
    cJSON *tracing = json_object(json, object, "tracing");

    const char *folder = result->protocol.traces, *slash;

    slash = folder != NULL ? strrchr(folder, '/') : NULL;
    for (int v = 0; v < VARIANT_COUNT; v++) {
        const struct tracing *of_variant = &result->tracing[v];
        const char *name = variant_name((enum variant)v);
        char path[NAME_MAX + sizeof of_variant->file];
        bool there = of_variant->file[0] != '\0' && folder != NULL;
        if (there)
            snprintf(path, sizeof path, "%s/%s", slash != NULL ? slash + 1 : folder,
                     of_variant->file);
        json_text(json, traces, name, there ? path : NULL);
        if (of_variant->reason[0] != '\0')
            json_text(json, json_object(json, tracing, name), "reason", of_variant->reason);
        else if (there)
            members_write(json, json_object(json, tracing, name), tracing_members, of_variant);
        else
            json_text(json, tracing, name, NULL);
    }
}

static void add_utilisation(struct json *json, cJSON *object, const struct scenario_result *result)
{
    cJSON *to = json_object(json, object, "utilisation");

    for (int v = 0; v < VARIANT_COUNT; v++) {
        struct utilisation utilisation = utilisation_of(result, (enum variant)v);
        utilisation_json(json, to, variant_name((enum variant)v), &utilisation);
    }
}

static void add_protocol(struct json *json, cJSON *object, const struct protocol *protocol)
{
    cJSON *to = json_object(json, object, "protocol");

#define ADD_TEXT(name, option)          json_text(json, to, #name, protocol->name);
#define ADD_INTEGER(type, name, option) json_integer(json, to, #name, protocol->name);
#define ADD_NUMBER(name, option)        json_number(json, to, #name, protocol->name);
#define ADD_FLAG(name, option)          json_bool(json, to, #name, protocol->name);
    PROTOCOL_RECORDED(ADD_TEXT, ADD_INTEGER, ADD_NUMBER, ADD_FLAG)
#undef ADD_TEXT
#undef ADD_INTEGER
#undef ADD_NUMBER
#undef ADD_FLAG
}

static void add_samples(struct json *json, cJSON *object, const struct scenario_result *result)
{
    cJSON *samples = json_object(json, object, "samples");

    for (int variant = 0; variant < VARIANT_COUNT; variant++) {
        cJSON *of_variant = json_array(json, samples, variant_name((enum variant)variant));
        for (int i = 0; i < result->pairs; i++)
            members_write(json, json_object(json, of_variant, NULL), repetition_members,
                          &result->repetitions[variant][i]);
    }
}

void result_scenario_add(struct json *json, cJSON *array, const struct scenario_result *result)
{
    const struct scenario *scenario = result->scenario;
    bool aa = result->protocol.aa;
    cJSON *object = json_object(json, array, NULL), *expectations;

    json_text(json, object, "name", scenario->name);
    json_text(json, object, "title", scenario->title);
    json_text(json, object, "verdict", verdict_name(result->verdict));
    json_text(json, object, "reason", result->reason);
    json_bool(json, object, "aa", aa);
    json_text(json, object, "knob", scenario->knob);
    json_text(json, object, "before", scenario->before);
    json_text(json, object, "after", aa ? scenario->before : scenario->after);
    add_headline(json, object, result);
    expectations = json_array(json, object, "expectations");
    for (int i = 0; i < result->expectation_count; i++)
        add_expectation(json, expectations, &result->expectations[i]);
    cJSON *losses = json_object(json, object, "losses");
    json_text(json, losses, "check", loss_checks[verdict_loss_check(result)].name);
    json_bool(json, losses, "agree", result->losses_agree);
    json_number(json, losses, "difference", result->loss_difference);
    json_integer(json, object, "damaged_samples", result->damaged_samples);
    add_balance(json, object, result);
    members_write(json, json_object(json, object, "settings"), settings_members, result->settings);
    json_unsigned(json, object, "seed", result->protocol.seed);
    add_protocol(json, object, &result->protocol);
    members_write(json, json_object(json, object, "device"), device_members, &result->device);
    add_traces(json, object, result);
    add_utilisation(json, object, result);
    result_findings_add(json, object, result);
    json_number(json, object, "other_programs_cores", result->cpu_loss.others);
    json_number(json, object, "stolen_cores", result->cpu_loss.stolen);
    json_number(json, object, "seconds", result->seconds);
    add_samples(json, object, result);
}
