#include "harness/lab/result/result_scenario.h"

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

static void add_losses(struct json *json, cJSON *object, const struct scenario_result *result)
{
    cJSON *losses = json_object(json, object, "losses");

    json_text(json, losses, "check", loss_checks[verdict_loss_check(result)].name);
    json_bool(json, losses, "agree", result->losses_agree);
    json_number(json, losses, "difference", result->loss_difference);
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
    json_integer(json, balance, "jpeg_pixels", result->balance.jpeg_pixels);
    json_bool(json, balance, "measured", result->balance.measured);
    if (!result->balance.measured)
        return;
    json_number(json, balance, "host_ns", result->balance.host_ns);
    json_number(json, balance, "device_ns", result->balance.device_ns);
    json_number(json, balance, "ratio", result->balance.ratio);
}

/* The facts about a device, numbers as numbers. */
static void result_device_add(struct json *json, cJSON *to, const char *name,
                              const struct device_properties *device)
{
    cJSON *object = json_object(json, to, name);

#define ADD_TEXT(field, size) json_text(json, object, #field, device->field);
#define ADD_INTEGER(field)    json_integer(json, object, #field, device->field);
#define ADD_BOOL(field)       json_bool(json, object, #field, device->field);
#define ADD_DOUBLE(field)     json_number(json, object, #field, device->field);
    DEVICE_FIELDS(ADD_TEXT, ADD_INTEGER, ADD_INTEGER, ADD_BOOL, ADD_DOUBLE)
#undef ADD_TEXT
#undef ADD_INTEGER
#undef ADD_BOOL
#undef ADD_DOUBLE
}

static void add_tracing(struct json *json, cJSON *to, const char *name,
                        const struct tracing *tracing)
{
    cJSON *object = json_object(json, to, name);

    if (tracing->reason[0] != '\0') {
        json_text(json, object, "reason", tracing->reason);
        return;
    }
    json_integer(json, object, "steps", tracing->steps);
    json_integer(json, object, "windows", tracing->windows);
    json_number(json, object, "step_time_us", tracing->step_time_us);
    json_number(json, object, "traced_step_time_us", tracing->traced_step_time_us);
    json_number(json, object, "overhead", tracing->traced_step_time_us / tracing->step_time_us - 1);
    json_number(json, object, "spread", tracing->spread);
    json_integer(json, object, "rows", tracing->rows);
    json_integer(json, object, "dropped", tracing->dropped);
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
        if (there || of_variant->reason[0] != '\0')
            add_tracing(json, tracing, name, of_variant);
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

/* Nothing for a device that tells nothing. */
static void add_vitals(struct json *json, cJSON *object, const char *name,
                       const struct device_vitals *vitals)
{
    char limits[64];
    cJSON *to;

    if (!vitals_are_known(vitals))
        return;
    to = json_object(json, object, name);
#define ADD_VITAL(field) json_known_number(json, to, #field, vitals->field);
    DEVICE_VITALS(ADD_VITAL)
#undef ADD_VITAL
    json_text(json, to, "limits", health_limits_print(limits, sizeof limits, vitals->limits));
}

static void add_repetition(struct json *json, cJSON *samples, const struct repetition *repetition)
{
    cJSON *object = json_object(json, samples, NULL), *metrics;
    double losses[LOSS_STEPS];

    json_integer(json, object, "steps", repetition->steps);
    json_integer(json, object, "samples", repetition->samples);
    json_integer(json, object, "wall_ns", repetition->wall_ns);
    json_integer(json, object, "cpu_ns", repetition->cpu_ns);
    json_integer(json, object, "warmup_steps", repetition->warmup_steps);
    json_bool(json, object, "warmed_up", repetition->warmed_up);
    add_vitals(json, object, "vitals_before", &repetition->vitals[0]);
    add_vitals(json, object, "vitals_after", &repetition->vitals[1]);
    metrics = json_object(json, object, "metrics");
    for (int metric = METRIC_FIRST; metric < METRIC_COUNT; metric++)
        json_known_number(json, metrics, metric_name((enum metric)metric),
                          repetition->metric[metric]);
    for (int i = 0; i < LOSS_STEPS; i++) losses[i] = repetition->losses[i];
    json_numbers(json, object, "losses", losses, LOSS_STEPS, 9); /* 9 digits: a float, exactly */
    json_numbers(json, object, "step_ns", repetition->step_ns, repetition->step_count, 12);
}

static void add_samples(struct json *json, cJSON *object, const struct scenario_result *result)
{
    cJSON *samples = json_object(json, object, "samples");

    for (int variant = 0; variant < VARIANT_COUNT; variant++) {
        cJSON *of_variant = json_array(json, samples, variant_name((enum variant)variant));
        for (int i = 0; i < result->pairs; i++)
            add_repetition(json, of_variant, &result->repetitions[variant][i]);
    }
}

void result_scenario_add(struct json *json, cJSON *array, const struct scenario_result *result)
{
    const struct scenario *scenario = result->scenario;
    bool aa = result->protocol.aa;
    cJSON *object = json_object(json, array, NULL), *expectations, *settings;

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
    add_losses(json, object, result);
    json_integer(json, object, "damaged_samples", result->damaged_samples);
    add_balance(json, object, result);
    settings = json_object(json, object, "settings");
    for (int variant = 0; variant < VARIANT_COUNT; variant++)
        json_text(json, settings, variant_name((enum variant)variant), result->settings[variant]);
    json_unsigned(json, object, "seed", result->protocol.seed);
    add_protocol(json, object, &result->protocol);
    result_device_add(json, object, "device", &result->device);
    add_traces(json, object, result);
    add_utilisation(json, object, result);
    result_findings_add(json, object, result);
    json_number(json, object, "other_programs_cores", result->cpu_loss.others);
    json_number(json, object, "stolen_cores", result->cpu_loss.stolen);
    json_number(json, object, "seconds", result->seconds);
    add_samples(json, object, result);
}
