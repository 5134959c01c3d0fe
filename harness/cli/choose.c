#include "harness/cli/choose.h"

#include <string.h>

static enum status choose_scenario(const struct scenario **scenario, const char *name)
{
    enum status status = STATUS_OK;

    *scenario = scenario_find(name);
    if (*scenario == NULL)
        FAIL(STATUS_BAD_USAGE,
             "there is no scenario %.60s; did you mean %s? (chokepoint list names all)", name,
             scenario_nearest(name));

out:
    return status;
}

enum status choose_only(const struct scenario **scenario, const struct flags *flags,
                        const char *command)
{
    enum status status = STATUS_OK;

    if (flags->argument_count == 0)
        FAIL(STATUS_BAD_USAGE, "name a scenario; chokepoint list shows them");
    TRY(choose_scenario(scenario, flags->arguments[0]));
    if (flags->argument_count > 1)
        FAIL(STATUS_BAD_USAGE, "unexpected \"%.60s\": %s takes one scenario", flags->arguments[1],
             command);

out:
    return status;
}

enum status choice_add(struct choice *choice, const char *name)
{
    enum status status = STATUS_OK;
    bool all = strcmp(name, "all") == 0, core = strcmp(name, "core") == 0;
    const struct scenario *scenario = NULL;

    if (!all && !core)
        TRY(choose_scenario(&scenario, name));
    for (int i = 0; i < CHOICE_MAX && scenarios[i] != NULL; i++)
        if (all || (core && i < scenarios_core) || scenarios[i] == scenario)
            choice->chosen[i] = true;

out:
    return status;
}

int choice_count(const struct choice *choice)
{
    int count = 0;

    for (int i = 0; i < CHOICE_MAX; i++) count += choice->chosen[i];
    return count;
}
