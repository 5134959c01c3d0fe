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

static cJSON *interval_json(struct json *json, const struct effect *effect)
{
    if (!isfinite(effect->low) || !isfinite(effect->high))
        return NULL;
    return json_pair(json, effect->low, effect->high);
}

/* The headline: step_time in us, its factor and the factor's interval. */
static void add_headline(struct json *json, cJSON *object, const struct scenario_result *result)
{
    /* Without a pair there is no effect: NAN becomes null. */
    struct effect none = { NAN, NAN, NAN, NAN, NAN, NAN };
    const struct effect *effect = result->pairs > 0 ? &result->step_time : &none;
    JSON_ADD(json, object, KEY("effect", effect->factor),
             KEY("interval", interval_json(json, effect)), KEY("coverage", effect->coverage),
             KEY("step_time",
                 JSON_OBJECT(json, KEY("before", effect->before), KEY("after", effect->after),
                             KEY("unit", metric_unit(METRIC_STEP_TIME)),
                             KEY("clock", "CLOCK_MONOTONIC"))));
}

static void add_expectation(struct json *json, cJSON *expectations,
                            const struct expectation_result *result)
{
    cJSON *object = json_object(json, expectations, NULL);

    expectation_json(json, object, result->expectation);
    JSON_ADD(json, object, KEY("outcome", outcome_name(result->outcome)),
             KEY("reason", result->reason), KEY("before", result->effect.before),
             KEY("after", result->effect.after), KEY("effect", result->effect.factor),
             KEY("interval", interval_json(json, &result->effect)));
}

static cJSON *balance_json(struct json *json, const struct scenario_result *result)
{
    const struct balance *wanted = &result->scenario->balance;
    cJSON *balance;

    if (wanted->kind == BALANCE_NONE)
        return NULL;
    balance = JSON_OBJECT(json, KEY("kind", balances[wanted->kind].name), KEY("low", wanted->low),
                          KEY("high", wanted->high));
    members_write(json, balance, balance_members, &result->balance);
    return balance;
}

/* Paths of the traces, relative to the result file, and the cost of tracing; null if none was asked
 * for. */
static void add_traces(struct json *json, cJSON *object, const struct scenario_result *result)
{
    cJSON *traces = json_object(json, object, "traces");
    cJSON *tracing = json_object(json, object, "tracing");

    const char *folder = result->protocol.traces, *slash;

    /* The folder of the traces is in that of the result file, so its own name leads there. */
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
        JSON_ADD(json, to,
                 KEY(variant_name((enum variant)v), utilisation_json(json, &utilisation)));
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

    JSON_ADD(json, object, KEY("name", scenario->name), KEY("title", scenario->title),
             KEY("verdict", verdict_name(result->verdict)), KEY("reason", result->reason),
             KEY("aa", aa), KEY("knob", scenario->knob), KEY("before", scenario->before),
             KEY("after", aa ? scenario->before : scenario->after));
    add_headline(json, object, result);
    expectations = json_array(json, object, "expectations");
    for (int i = 0; i < result->expectation_count; i++)
        add_expectation(json, expectations, &result->expectations[i]);
    JSON_ADD(
        json, object,
        KEY("losses", JSON_OBJECT(json, KEY("check", loss_checks[verdict_loss_check(result)].name),
                                  KEY("agree", result->losses_agree),
                                  KEY("difference", result->loss_difference))),
        KEY("damaged_samples", result->damaged_samples), KEY("balance", balance_json(json, result)),
        KEY("settings", members_object(json, settings_members, result->settings)),
        KEY("seed", result->protocol.seed));
    add_protocol(json, object, &result->protocol);
    JSON_ADD(json, object, KEY("device", members_object(json, device_members, &result->device)));
    add_traces(json, object, result);
    add_utilisation(json, object, result);
    result_findings_add(json, object, result);
    JSON_ADD(json, object, KEY("other_programs_cores", result->cpu_loss.others),
             KEY("stolen_cores", result->cpu_loss.stolen), KEY("seconds", result->seconds));
    /* Last, as they are by far the longest. */
    add_samples(json, object, result);
}
