/* As text: knob, before, after, metric, direction, check of the losses, then the settings of both.
 * The settings come last because only they have blanks in them: what is left of the text is theirs,
 * however long. */
#include "harness/lab/experiment/own_scenario.h"

#include "harness/base/figures/statistics.h"

#include <stdio.h>
#include <string.h>

static const char *const directions[] = { [SHRINKS] = "shrinks", [GROWS] = "grows" };

enum status own_scenario_make(struct own_scenario *own, const char *name, const char *base,
                              const struct own_change *change)
{
    if (strlen(base) >= sizeof own->base || strlen(change->knob) >= sizeof own->knob ||
        strlen(change->before) >= sizeof own->before || strlen(change->after) >= sizeof own->after)
        FAIL(STATUS_BAD_USAGE, "settings that are too long: %.80s...", base);
    memset(own, 0, sizeof *own);
    snprintf(own->base, sizeof own->base, "%s", base);
    snprintf(own->knob, sizeof own->knob, "%s", change->knob);
    snprintf(own->before, sizeof own->before, "%s", change->before);
    snprintf(own->after, sizeof own->after, "%s", change->after);
    own->scenario.name = name;
    own->scenario.is_own = true;
    /* Empty, not NULL: no list tells of it, but result files state the title of any scenario. */
    own->scenario.title = own->scenario.symptom = own->scenario.cause = own->scenario.fix = "";
    own->scenario.base = own->base;
    own->scenario.knob = own->knob;
    own->scenario.before = own->before;
    own->scenario.after = own->after;
    own->scenario.loss = change->loss;
    own->scenario.expect[0] = (struct expectation){ .metric = change->metric,
                                                    .direction = change->direction,
                                                    .at_least = 1,
                                                    .worth = 1 + LEAST_EFFECT_PERCENT / 100.0 };

    return STATUS_OK;
}

void own_scenario_print(char text[OWN_SCENARIO_TEXT], const struct scenario *scenario)
{
    snprintf(text, OWN_SCENARIO_TEXT, "%s %s %s %s %s %s %s", scenario->knob, scenario->before,
             scenario->after, metric_name(scenario->expect[0].metric),
             directions[scenario->expect[0].direction], loss_checks[scenario->loss].name,
             scenario->base);
}

static bool find_metric(const char *name, enum metric *metric)
{
    for (int i = METRIC_FIRST; i < METRIC_COUNT; i++)
        if (strcmp(name, metric_name((enum metric)i)) == 0) {
            *metric = (enum metric)i;
            return true;
        }
    return false;
}

static bool find_loss(const char *name, enum loss_check *loss)
{
    for (int i = 0; i < LOSS_CHECK_COUNT; i++)
        if (strcmp(name, loss_checks[i].name) == 0) {
            *loss = (enum loss_check)i;
            return true;
        }
    return false;
}

enum status own_scenario_parse(struct own_scenario *own, const char *name, const char *text)
{
    char knob[OWN_KNOBS], before[OWN_VALUES], after[OWN_VALUES], metric[64], direction[16],
        loss[32];
    struct own_change change = { knob, before, after, METRIC_STEP_TIME, SHRINKS, LOSS_IDENTICAL };
    int base = 0;

    /* sscanf() takes widths only as digits in the format. */
    _Static_assert(OWN_KNOBS == 384 && OWN_VALUES == 256, "the format below has their widths");
    if (sscanf(text, "%383s %255s %255s %63s %15s %31s %n", knob, before, after, metric, direction,
               loss, &base) != 6 ||
        base == 0 || !find_metric(metric, &change.metric) || !find_loss(loss, &change.loss) ||
        (strcmp(direction, directions[SHRINKS]) != 0 && strcmp(direction, directions[GROWS]) != 0))
        FAIL(STATUS_BAD_USAGE, "\"%.80s\" is of no scenario", text);
    change.direction = strcmp(direction, directions[GROWS]) == 0 ? GROWS : SHRINKS;
    return own_scenario_make(own, name, text + base, &change);
}
