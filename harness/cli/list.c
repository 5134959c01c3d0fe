/* chokepoint list: the scenarios, one line each. */
#include "harness/cli/commands.h"
#include "harness/cli/flags.h"
#include "harness/report/scenario_json.h"
#include "harness/text/wrap.h"
#include "scenarios/scenario.h"

#include <stdio.h>
#include <stdlib.h>

enum { TEXT_COLUMN = 24 };

static void print_scenarios(const struct console *console, const char *heading, int from, int to)
{
    if (from == to)
        return;
    printf("%s%s%s\n", console->bold, heading, console->plain);
    for (int i = from; i < to; i++) {
        const struct scenario *scenario = scenarios[i];
        printf("  %-*s", TEXT_COLUMN - 2, scenario->name);
        wrap_print(stdout, TEXT_COLUMN, TEXT_COLUMN, console->width, scenario->title);
        printf("%*s%s%s %s -> %s\n", TEXT_COLUMN, "", console->dim, scenario->knob,
               scenario->before, scenario->after);
        if (scenario->needs != ANYWHERE) {
            printf("%*sonly ", TEXT_COLUMN, "");
            wrap_print(stdout, TEXT_COLUMN + 5, TEXT_COLUMN, console->width,
                       wheres[scenario->needs].text);
        }
        fputs(console->plain, stdout);
    }
}

static enum status run_list(void *context, int *exit_code)
{
    enum status status = STATUS_OK;
    const struct flags *flags = context;
    struct console console = console_open(stdout, flags->color);
    char *text = NULL;
    int count = 0;

    (void)exit_code;
    if (flags->format == FORMAT_JSON) {
        TRY(scenarios_json(&text));
        fputs(text, stdout);
        goto out;
    }
    while (scenarios[count] != NULL) count++;
    print_scenarios(&console, "core", 0, scenarios_core);
    print_scenarios(&console, "further", scenarios_core, count);

out:
    free(text);
    return status;
}

static const struct option_row options[] = { FLAG_FORMAT("console|json"), FLAG_COLOR, FLAG_VERBOSE,
                                             OPTIONS_END };

const struct command command_list = {
    .name = "list",
    .text = "the scenarios, one line each",
    .help = "Lists the scenarios: each is one bottleneck, with the one setting that differs "
            "between before and after.\v"
            "Examples:\n"
            "  chokepoint list\n"
            "  chokepoint list --format=json   for programs, with what each expects\n"
            "  chokepoint explain item_sync    more about one scenario",
    .options = options,
    .context_size = sizeof(struct flags),
    .run = run_list,
};
