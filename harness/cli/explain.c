/* chokepoint explain: what a scenario teaches, what it expects, and how to try both variants by hand. */
#include "harness/cli/choose.h"
#include "harness/cli/commands.h"
#include "harness/cli/flags.h"
#include "harness/report/result_summary.h"
#include "harness/text/wrap.h"

#include <stdio.h>
#include <string.h>

/* "  Symptom  the device is idle ..." */
static void print_point(const struct console *console, const char *word, const char *text)
{
    fprintf(console->stream, "  %s%-10s%s", console->bold, word, console->plain);
    wrap_print(console->stream, 12, 12, console->width, text);
}

static void print_expectations(const struct console *console, const struct scenario *scenario)
{
    for (int i = 0; i < SCENARIO_EXPECTATIONS && !expectation_is_end(&scenario->expect[i]); i++) {
        const struct expectation *expectation = &scenario->expect[i];
        char promise[160], sentence[512];
        summary_expectation(promise, sizeof promise, expectation);
        snprintf(sentence, sizeof sentence, "%s%s%s%s%s", promise,
                 expectation->is_cost ? ", the cost of the fix" : "",
                 expectation->exact ? ", identical in all repetitions" : "",
                 expectation->where != ANYWHERE ? ", " : "", wheres[expectation->where].text);
        fputs("  ", console->stream);
        wrap_print(console->stream, 2, 4, console->width, sentence);
        fprintf(console->stream, "    %s", console->dim);
        wrap_print(console->stream, 4, 4, console->width, metric_text(expectation->metric));
        fputs(console->plain, console->stream);
    }
}

/* When the effect shows, and how far the variants must compute the same. */
static void print_conditions(const struct console *console, const struct scenario *scenario)
{
    const struct balance *balance = &scenario->balance;
    char sentence[256];

    if (balance->kind != BALANCE_NONE) {
        snprintf(sentence, sizeof sentence,
                 "The effect shows only while %s work is between %g and %g times %s work; the size "
                 "of the JPEG files is chosen to meet that.",
                 balances[balance->kind].over, balance->low, balance->high,
                 balances[balance->kind].under);
        fputs("  ", console->stream);
        wrap_print(console->stream, 2, 2, console->width, sentence);
    }
    snprintf(sentence, sizeof sentence, "The losses of the first steps %s.",
             loss_checks[scenario->loss].text);
    fputs("  ", console->stream);
    wrap_print(console->stream, 2, 2, console->width, sentence);
}

/* A flag: the knob's name with '-' for '_'. */
static void append_flag(char *line, size_t size, const char *name, size_t name_length,
                        const char *value, size_t value_length)
{
    size_t length = strlen(line);

    snprintf(line + length, size - length, " --%.*s=%.*s", (int)name_length, name,
             (int)value_length, value);
    for (char *letter = line + length + 3; *letter != '\0' && *letter != '='; letter++)
        if (*letter == '_')
            *letter = '-';
}

/* The settings of the base as flags, then the knob, on one line that can be pasted. */
static void print_command(const struct console *console, const struct scenario *scenario,
                          const char *value)
{
    char line[1024] = "chokepoint train";
    const char *setting = scenario->base + strspn(scenario->base, " ");

    while (*setting != '\0') {
        size_t length = strcspn(setting, " "), name = strcspn(setting, "= ");
        if (name < length)
            append_flag(line, sizeof line, setting, name, setting + name + 1, length - name - 1);
        setting += length + strspn(setting + length, " ");
    }
    append_flag(line, sizeof line, scenario->knob, strlen(scenario->knob), value, strlen(value));
    fprintf(console->stream, "  %s\n", line);
}

static void print_scenario(const struct console *console, const struct scenario *scenario)
{
    FILE *stream = console->stream;

    fprintf(stream, "%s%s%s: %s\n\n", console->bold, scenario->name, console->plain,
            scenario->title);
    print_point(console, "Symptom", scenario->symptom);
    print_point(console, "Cause", scenario->cause);
    print_point(console, "Fix", scenario->fix);
    print_point(console, "Look for", scenario->look);
    fprintf(stream, "\n%sThe one difference%s\n  %s: %s before, %s after\n", console->bold,
            console->plain, scenario->knob, scenario->before, scenario->after);
    fprintf(stream, "\n%sWhat is expected%s\n", console->bold, console->plain);
    print_expectations(console, scenario);
    print_conditions(console, scenario);
    fprintf(stream, "\n%sMeasure it%s\n  chokepoint run %s\n", console->bold, console->plain,
            scenario->name);
    fprintf(stream, "\n%sTry both by hand%s\n", console->bold, console->plain);
    print_command(console, scenario, scenario->before);
    print_command(console, scenario, scenario->after);
}

static enum status run_explain(void *context, int *exit_code)
{
    enum status status = STATUS_OK;
    const struct flags *flags = context;
    const struct scenario *scenario;
    struct console console = console_open(stdout, flags->color);

    (void)exit_code;
    TRY(choose_only(&scenario, flags, "explain"));
    print_scenario(&console, scenario);

out:
    return status;
}

static const struct option_row options[] = { FLAG_COLOR, FLAG_VERBOSE, OPTIONS_END };

const struct command command_explain = {
    .name = "explain",
    .text = "what a scenario teaches",
    .arguments = "SCENARIO",
    .help = "Explains a scenario: symptom, cause, fix, where to look, what is expected, and the "
            "commands that run its two variants by hand.\v"
            "Examples:\n"
            "  chokepoint explain item_sync\n"
            "  chokepoint list                 the names",
    .options = options,
    .context_size = sizeof(struct flags),
    .run = run_explain,
};
