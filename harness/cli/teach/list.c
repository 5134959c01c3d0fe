/* chokepoint list: the scenarios by what is at fault, and what this device can show of them.
 *
 * The list itself is data (scenarios/list.c), and its JSON is written by scenario_json.h. The
 * device is opened only to mark what cannot be shown here. */
#include "harness/cli/job/job_flags.h"
#include "harness/cli/line/commands.h"
#include "harness/lab/result/scenario_json.h"
#include "harness/text/wrap.h"
#include "scenarios/gpu_kernels/kernel_lessons.h"
#include "scenarios/scenario.h"

#include <stdio.h>
#include <stdlib.h>

enum { TEXT_COLUMN = 25 };

/* Prints the needs that are not met here. `device` NULL: there is none to ask, and all needs are
 * named. */
static void print_needs(const struct console *console, enum where needs,
                        const struct device_properties *device)
{
    char text[256];

    if (needs == ANYWHERE || (device != NULL && where_holds(needs, device)))
        return;
    snprintf(text, sizeof text, "only %s%s", wheres[needs].text,
             device != NULL ? ": not here" : "");
    printf("%*s", TEXT_COLUMN, "");
    wrap_print(stdout, TEXT_COLUMN, TEXT_COLUMN, console->width, text);
}

/* A group of which nothing is in the list has no heading. */
static void print_group(const struct console *console, enum group group,
                        const struct device_properties *device)
{
    bool is_first = true;

    for (int i = 0; scenarios[i] != NULL; i++) {
        if (scenarios[i]->group != group)
            continue;
        if (is_first)
            printf("%s%s%s: %s\n", console->bold, scenario_groups[group].name, console->plain,
                   scenario_groups[group].text);
        printf("%c %-*s", (i < scenarios_core) ? '*' : ' ', TEXT_COLUMN - 2, scenarios[i]->name);
        wrap_print(stdout, TEXT_COLUMN, TEXT_COLUMN, console->width, scenarios[i]->title);
        printf("%*s%s%s %s -> %s\n", TEXT_COLUMN, "", console->dim, scenarios[i]->knob,
               scenarios[i]->before, scenarios[i]->after);
        print_needs(console, scenarios[i]->needs, device);
        fputs(console->plain, stdout);
        is_first = false;
    }
    if (!is_first)
        fputc('\n', stdout);
}

/* Pairs of kernels need no device, so all can be shown anywhere. */
static void print_lessons(const struct console *console)
{
    printf("%s%s%s: %s\n", console->bold, scenario_groups[GROUP_GPU_KERNELS].name, console->plain,
           scenario_groups[GROUP_GPU_KERNELS].text);
    for (int i = 0; kernel_lessons[i] != NULL; i++) {
        const struct kernel_lesson *lesson = kernel_lessons[i];
        char text[160];
        printf("  %-*s", TEXT_COLUMN - 2, lesson->name);
        wrap_print(stdout, TEXT_COLUMN, TEXT_COLUMN, console->width, lesson->title);
        snprintf(text, sizeof text, "%s -> %s", lesson->launches[0].words,
                 lesson->launches[1].words);
        printf("%*s%s", TEXT_COLUMN, "", console->dim);
        wrap_print(stdout, TEXT_COLUMN, TEXT_COLUMN, console->width, text);
        fputs(console->plain, stdout);
    }
    fputc('\n', stdout);
}

/* The list needs no device: without one nothing is marked. */
static enum status run_list(void *context, int *exit_code)
{
    enum status status = STATUS_OK;
    const struct flags *flags = context;
    const char *name = flags->argument_count > 0 ? flags->arguments[0] : NULL;
    enum group only = name != NULL ? group_find(name) : GROUP_NONE;
    struct console console = console_open(stdout, flags->color);
    struct device *device = NULL;
    char *text = NULL;

    (void)exit_code;
    if (flags->argument_count > 1 || (name != NULL && only == GROUP_NONE))
        FAIL_OUT(STATUS_BAD_USAGE, "list takes a group; there is none %.60s",
                 flags->arguments[flags->argument_count - 1]);
    if (flags->format == FORMAT_JSON) {
        TRY_OUT(scenarios_json(&text));
        fputs(text, stdout);
        goto out;
    }
    if (flags_open_device(&device, flags) != STATUS_OK)
        device = NULL;
    for (int group = GROUP_FIRST; group < GROUP_COUNT; group++)
        if (only == GROUP_NONE || group == (int)only)
            print_group(&console, (enum group)group,
                        device != NULL ? device_properties(device) : NULL);
    if (only == GROUP_NONE || only == GROUP_GPU_KERNELS)
        print_lessons(&console);
    printf("* core: run measures these if none is named\n");

out:
    device_close(device);
    free(text);
    return status;
}

static const struct option_row options[] = { FLAG_DEVICE("where they would be measured"),
                                             FLAG_FORMAT("console|json"), FLAG_COLOR, FLAG_VERBOSE,
                                             OPTIONS_END };

const struct command command_list = {
    .name = "list",
    .text = "the scenarios, by what is at fault",
    .arguments = "[GROUP]",
    .help = "Lists the scenarios by what is at fault: each is one bottleneck, with the one setting "
            "that differs between before and after. run and explain take the name of a group too. "
            "gpu_kernels are no trainings but pairs of kernels, one thing wrong in the first.\v"
            "Examples:\n"
            "  chokepoint list\n"
            "  chokepoint list memory          a group of them\n"
            "  chokepoint list --format=json   for programs, with what each expects\n"
            "  chokepoint explain item_sync    more about one scenario",
    .options = options,
    .context_size = sizeof(struct flags),
    .run = run_list,
};
