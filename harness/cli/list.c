/* chokepoint list: the scenarios, one line each. */
#include "harness/cli/commands.h"
#include "harness/cli/flags.h"
#include "scenarios/scenario.h"

#include <stdio.h>

static void print_scenarios(const struct console *console, const char *heading, int from, int to)
{
    if (from == to)
        return;
    printf("%s%s%s\n", console->bold, heading, console->plain);
    for (int i = from; i < to; i++) {
        const struct scenario *scenario = scenarios[i];
        printf("  %-22s%s\n  %-22s%s%s %s -> %s%s\n", scenario->name, scenario->title, "",
               console->dim, scenario->knob, scenario->before, scenario->after, console->plain);
    }
}

static enum status run_list(void *context, int *exit_code)
{
    const struct flags *flags = context;
    struct console console = console_open(stdout, flags->color);
    int count = 0;

    (void)exit_code;
    while (scenarios[count] != NULL) count++;
    print_scenarios(&console, "core", 0, scenarios_core);
    print_scenarios(&console, "further", scenarios_core, count);
    return STATUS_OK;
}

static const struct option_row options[] = { FLAG_COLOR, FLAG_VERBOSE, OPTIONS_END };

const struct command command_list = {
    .name = "list",
    .text = "the scenarios, one line each",
    .help = "Lists the scenarios: each is one bottleneck, with the one setting that differs "
            "between before and after.\v"
            "Examples:\n"
            "  chokepoint list\n"
            "  chokepoint explain item_sync    more about one scenario",
    .options = options,
    .context_size = sizeof(struct flags),
    .run = run_list,
};
