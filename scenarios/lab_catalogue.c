/* Questions that pages of the desk ask about the lab, answered from the tables of scenarios and
 * knobs. */
#include "scenarios/lab_catalogue.h"

#include "harness/engine/settings/knobs.h"
#include "scenarios/scenario.h"

#include <string.h>

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
