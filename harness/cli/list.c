/* chokepoint list: the scenarios, one line each. */
#include "harness/cli/commands.h"
#include "harness/cli/flags.h"
#include "harness/cli/options.h"
#include "scenarios/scenario.h"

#include <stdio.h>

static enum status take(void *context, int key, const char *value)
{
    return flags_take(context, key, value);
}

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

static enum status run_list(int argc, char **argv, int *exit_code)
{
    static const struct argp_option rows[] = { FLAGS_OUTPUT, FLAGS_VERBOSE, OPTIONS_END };
    enum status status = STATUS_OK;
    struct flags flags = flags_default();
    const struct options options = {
        .command = "list",
        .arguments = "",
        .text = "Lists the scenarios: each is one bottleneck, with the one setting that differs "
                "between before and after.\v"
                "Examples:\n"
                "  chokepoint list\n"
                "  chokepoint explain item_sync    more about one scenario",
        .rows = rows,
        .option = take,
        .context = &flags,
    };
    struct console console;
    bool helped;
    int count = 0;

    (void)exit_code;
    TRY(options_parse(&options, argc, argv, &helped));
    if (helped)
        goto out;
    console = console_open(stdout, flags.color);
    while (scenarios[count] != NULL) count++;
    print_scenarios(&console, "core", 0, scenarios_core);
    print_scenarios(&console, "further", scenarios_core, count);

out:
    return status;
}

const struct command command_list = { "list", "the scenarios, one line each", run_list };
