/* The line of the page and the members of the document come from the same findings: the foremost
 * one before the fix that the scenario accepts, its gain as predicted and as measured, and what is
 * left after the fix. */
#include "harness/lab/result/result_findings.h"

#include "harness/base/figures/quantity.h"
#include "harness/base/words/text.h"
#include "harness/desk/page/json/diagnosis_json.h"
#include "harness/lab/experiment/parent/variant_diagnosis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool was_traced(const struct scenario_result *result)
{
    for (int v = 0; v < VARIANT_COUNT; v++)
        if (result->diagnoses[v].made || result->diagnoses[v].reason[0] != '\0')
            return true;
    return false;
}

static const char *reason_of(const struct scenario_result *result)
{
    for (int v = 0; v < VARIANT_COUNT; v++)
        if (result->diagnoses[v].reason[0] != '\0')
            return result->diagnoses[v].reason;
    return NULL;
}

static double measured_gain(const struct scenario_result *result)
{
    return result->pairs > 0 ? result->step_time.factor : NAN;
}

static void add_bool(struct json *json, cJSON *to, const char *name, bool known, bool value)
{
    if (known)
        json_bool(json, to, name, value);
    else
        json_text(json, to, name, NULL);
}

void result_findings_add(struct json *json, cJSON *to, const struct scenario_result *result)
{
    bool complete = variant_diagnosis_complete(result);
    const struct finding *accepted = variant_diagnosis_accepted(result);
    cJSON *object;

    if (!was_traced(result)) {
        json_text(json, to, "findings", NULL);
        return;
    }
    object = json_object(json, to, "findings");
    for (int v = 0; v < VARIANT_COUNT; v++)
        JSON_ADD(json, object,
                 KEY(variant_name((enum variant)v),
                     result->diagnoses[v].made ? findings_json(json, &result->diagnoses[v].findings)
                                               : NULL));
    if (!complete)
        json_text(json, object, "reason", reason_of(result));
    add_bool(json, object, "accepted_first", complete && variant_diagnosis_expected(result),
             variant_diagnosis_accepted_first(result));
    add_bool(json, object, "tolerated_after", complete, variant_diagnosis_tolerated_after(result));
    JSON_ADD(json, object,
             KEY("predicted_gain", complete && accepted != NULL && accepted->once_fixed == NULL
                                       ? accepted->predicted_gain
                                       : NAN),
             KEY("measured_gain", complete ? measured_gain(result) : NAN));
}

/* --- As a line --- */

/* The ids of what is worth a fix after it, those that the scenario tolerates as "expected here";
 * "nothing" where nothing is. */
static void name_left(char *text, size_t size, const struct scenario_result *result)
{
    const struct findings *after = &result->diagnoses[VARIANT_AFTER].findings;

    text[0] = '\0';
    for (int64_t i = 0; i < after->count; i++)
        if (after->items[i].severity > SEVERITY_INFORMATION)
            text_join(text, size, ", ", "%s%s", after->items[i].id,
                      variant_diagnosis_tolerates(result, after->items[i].id) ? " (expected here)"
                                                                              : "");
    if (text[0] == '\0')
        snprintf(text, size, "nothing");
}

/* The first finding, and its gain as predicted; as measured too where its advice is the scenario's
 * fix. */
static void describe_first(char *text, size_t size, const struct scenario_result *result)
{
    const struct findings *before = &result->diagnoses[VARIANT_BEFORE].findings;
    char predicted[QUANTITY_SIZE], measured[QUANTITY_SIZE];
    const char *bound;

    if (before->count == 0 || before->items[0].severity == SEVERITY_INFORMATION) {
        snprintf(text, size, "nothing");
        return;
    }
    snprintf(text, size, "%s", before->items[0].id);
    if (!isfinite(before->items[0].predicted_gain))
        return;
    bound = finding_gain_bound(&before->items[0]);
    quantity_factor(predicted, before->items[0].predicted_gain);
    quantity_factor(measured, measured_gain(result));
    if (variant_diagnosis_accepted_first(result))
        text_append(text, size, " (predicted gain %s%s, measured %s)", bound, predicted, measured);
    else
        text_append(text, size, " (predicted gain %s%s)", bound, predicted);
}

bool result_findings_line(char text[FINDINGS_LINE], const struct scenario_result *result)
{
    char before[FINDINGS_LINE / 4], after[FINDINGS_LINE / 2];

    if (!was_traced(result))
        return false;
    if (!variant_diagnosis_complete(result)) {
        snprintf(text, FINDINGS_LINE, "not diagnosed: %s",
                 reason_of(result) != NULL ? reason_of(result) : "a trace is missing");
        return true;
    }
    describe_first(before, sizeof before, result);
    name_left(after, sizeof after, result);
    snprintf(text, FINDINGS_LINE, "diagnosis before the fix: %s; left after the fix: %s", before,
             after);
    return true;
}
