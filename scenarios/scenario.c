/* Scenarios by name, group and finding; the words of their tables; and the settings of a variant.
 */
#include "scenarios/scenario.h"

#include "harness/base/figures/statistics.h"
#include "harness/base/words/nearest.h"
#include "harness/engine/settings/knobs.h"

#include <stdio.h>
#include <string.h>

const struct scenario *scenario_find(const char *name)
{
    for (int i = 0; scenarios[i] != NULL; i++)
        if (strcmp(scenarios[i]->name, name) == 0)
            return scenarios[i];
    return NULL;
}

bool scenario_shows(const struct scenario *scenario, const char *finding)
{
    for (int i = 0; i < SCENARIO_FINDINGS && scenario->accept[i].id != NULL; i++)
        if (strcmp(scenario->accept[i].id, finding) == 0)
            return true;
    return names_have(scenario->also, finding);
}

/* How well a scenario stands for a finding that it shows. */
static int closeness(const struct scenario *scenario, const char *finding)
{
    const char *first = scenario->accept[0].id;

    return 1 + (first != NULL && strcmp(first, finding) == 0) +
           2 * (strcmp(scenario->name, finding) == 0);
}

const struct scenario *scenario_showing(const char *finding)
{
    const struct scenario *shows = NULL;
    int best = 0;

    for (int i = 0; scenarios[i] != NULL; i++)
        if (scenario_shows(scenarios[i], finding) && closeness(scenarios[i], finding) > best) {
            shows = scenarios[i];
            best = closeness(shows, finding);
        }
    return shows;
}

const struct group_row scenario_groups[] = { [GROUP_NONE] = { "none", "" },
#define GROUP_ROW(id, name, text) [id] = { name, text },
                                             GROUPS(GROUP_ROW) };

enum group group_find(const char *name)
{
    int group = GROUP_COUNT - 1;

    while (group > GROUP_NONE && strcmp(name, scenario_groups[group].name) != 0) group--;
    return (enum group)group;
}

const struct where_row wheres[] = {
#define WHERE_ROW(id, name, text, condition) [id] = { name, text },
    WHERES(WHERE_ROW)
};

const struct balance_row balances[] = {
#define BALANCE_ROW(id, name, over, under, measured) [id] = { name, over, under, measured },
    BALANCES(BALANCE_ROW)
};

const struct loss_check_row loss_checks[] = {
#define LOSS_CHECK_ROW(id, name, tolerance, text) [id] = { name, tolerance, text },
    LOSS_CHECKS(LOSS_CHECK_ROW)
};

bool where_holds(enum where where, const struct device_properties *device)
{
#define WHERE_CONDITION(id, name, text, condition) [id] = condition,
    const bool holds[] = { WHERES(WHERE_CONDITION) };

    return holds[where];
}

double expectation_least(const struct expectation *expectation)
{
    if (expectation->is_cost)
        return 0;
    if (expectation->at_least > 0)
        return expectation->at_least;
    return expectation->at_most > 0 || expectation->before_above > 0 || expectation->after_below > 0
               ? 0
               : 1 + LEAST_EFFECT_PERCENT / 100.0;
}

bool expectation_is_end(const struct expectation *expectation)
{
    return expectation->metric == METRIC_NONE;
}

const char *variant_name(enum variant variant)
{
    static const char *const names[VARIANT_COUNT] = { "before", "after" };

    return (unsigned)variant < VARIANT_COUNT ? names[variant] : "unknown";
}

enum variant variant_find(const char *name)
{
    int variant = 0;

    while (variant < VARIANT_COUNT && strcmp(name, variant_name((enum variant)variant)) != 0)
        variant++;
    return (enum variant)variant;
}

enum status scenario_set_each(struct training_config *config, const char *names, const char *values)
{
    while (*names != '\0') {
        char name[64], value[64];
        size_t name_length = strcspn(names, ","), value_length = strcspn(values, ",");
        if (name_length >= sizeof name || value_length >= sizeof value)
            FAIL(STATUS_BAD_USAGE, "%.80s=%.80s: too long for a knob", names, values);
        snprintf(name, sizeof name, "%.*s", (int)name_length, names);
        snprintf(value, sizeof value, "%.*s", (int)value_length, values);
        TRY(knob_set(config, name, value));
        names += name_length + (names[name_length] == ',');
        values += value_length + (values[value_length] == ',');
    }

    return STATUS_OK;
}

enum status scenario_config(const struct scenario *scenario, enum variant variant,
                            struct training_config *config)
{
    enum status status = STATUS_OK;

    knobs_defaults(config);
    TRY_OUT(knobs_apply(config, scenario->base));
    TRY_OUT(scenario_set_each(config, scenario->knob,
                              variant == VARIANT_BEFORE ? scenario->before : scenario->after));

out:
    if (status != STATUS_OK)
        status_context("settings of %s/%s", scenario->name, variant_name(variant));
    return status;
}

/* --- What pages of the desk ask --- */

static const char *scenario_number(const char *finding, int number)
{
    const struct scenario *best = scenario_showing(finding);

    if (number == 0)
        return best != NULL ? best->name : NULL;
    for (int i = 0; scenarios[i] != NULL; i++)
        if (scenarios[i] != best && scenario_shows(scenarios[i], finding) && --number == 0)
            return scenarios[i]->name;
    return NULL;
}

static const char *healthy_value(const char *setting, size_t length)
{
    int count;
    const struct knob *knobs = knobs_list(&count);

    for (int i = 0; i < count; i++)
        if (strlen(knobs[i].name) == length && strncmp(knobs[i].name, setting, length) == 0)
            return knobs[i].healthy;
    return NULL;
}

const struct catalogue lab_catalogue = { scenario_number, healthy_value };
