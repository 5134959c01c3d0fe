/* Finds the scenarios and pairs of kernels that a command line asks for. Names are those of the
 * lists of scenarios and of kernels; one that is in neither gets advice, the name that is nearest
 * to it.
 *
 * A choice is a set of places in these lists, so naming one twice, alone and within a group, runs
 * it once, and the order is always that of the list. */
#include "harness/cli/job/choose.h"

#include "scenarios/gpu_kernels/kernel_lessons.h"

#include <errno.h>
#include <string.h>

static enum status choose_scenario(const struct scenario **scenario, const char *name)
{
    char advice[NEAREST_ADVICE];

    *scenario = scenario_find(name);
    scenario_advice(advice, name);
    if (*scenario == NULL)
        FAIL(STATUS_BAD_USAGE, "there is no scenario %.60s%s", name[0] != '\0' ? name : "\"\"",
             advice);

    return STATUS_OK;
}

/* For commands that measure in their own process, as `exec` does, and so one scenario only. Each
 * way to name something else has its own sentence. */
enum status choose_only(const struct scenario **scenario, const struct flags *flags,
                        const char *command)
{
    if (flags->argument_count == 0)
        FAIL(STATUS_BAD_USAGE, "a scenario is missing; %s list shows them",
             program_invocation_name);
    if (flags->argument_count > 1)
        FAIL(STATUS_BAD_USAGE, "%s takes one scenario; unexpected \"%.60s\"", command,
             flags->arguments[1]);
    if (choice_is_several(flags->arguments[0]))
        FAIL(STATUS_BAD_USAGE, "%s takes one scenario; \"%s\" stands for several, which run takes",
             command, flags->arguments[0]);
    if (kernel_lesson_find(flags->arguments[0]) != NULL)
        FAIL(STATUS_BAD_USAGE, "%s takes a scenario; %s is a pair of kernels, which run takes",
             command, flags->arguments[0]);
    TRY(choose_scenario(scenario, flags->arguments[0]));

    return STATUS_OK;
}

bool choice_is_several(const char *name)
{
    return strcmp(name, "all") == 0 || strcmp(name, "core") == 0 || group_find(name) != GROUP_NONE;
}

enum status choice_add(struct choice *choice, const char *name)
{
    bool all = strcmp(name, "all") == 0, core = strcmp(name, "core") == 0;
    enum group group = group_find(name);
    const struct scenario *scenario = NULL;
    const struct kernel_lesson *lesson = kernel_lesson_find(name);

    if (!choice_is_several(name) && lesson == NULL)
        TRY(choose_scenario(&scenario, name));
    for (int i = 0; i < CHOICE_MAX && scenarios[i] != NULL; i++)
        if (all || (core && i < scenarios_core) || scenarios[i] == scenario ||
            (group != GROUP_NONE && scenarios[i]->group == group))
            choice->chosen[i] = true;
    for (int i = 0; i < CHOICE_LESSONS_MAX && kernel_lessons[i] != NULL; i++)
        if (all || group == GROUP_GPU_KERNELS || kernel_lessons[i] == lesson)
            choice->lessons[i] = true;

    return STATUS_OK;
}

int choice_lessons(const struct choice *choice)
{
    int count = 0;

    for (int i = 0; i < CHOICE_LESSONS_MAX; i++) count += choice->lessons[i];
    return count;
}

int choice_count(const struct choice *choice)
{
    int count = 0;

    for (int i = 0; i < CHOICE_MAX; i++) count += choice->chosen[i];
    return count;
}
