#include "harness/cli/lesson_print.h"

#include "harness/report/result_summary.h"
#include "harness/text/wrap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void lesson_title(const struct console *console, const char *name, const char *title)
{
    fprintf(console->stream, "%s%s%s: ", console->bold, name, console->plain);
    wrap_print(console->stream, wrap_columns(name) + 2, 2, console->width, title);
    fputc('\n', console->stream);
}

void lesson_point(const struct console *console, const char *word, const char *text)
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

/* Lines as they are, since Python counts their spaces. */
static void print_lines(const struct console *console, const char *word, const char *lines)
{
    fprintf(console->stream, "  %s# %s%s\n", console->dim, word, console->plain);
    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");
        fprintf(console->stream, "%s%.*s\n", length > 0 ? "  " : "", (int)length, lines);
        lines += length + (lines[length] == '\n');
    }
}

/* When the effect shows, and how far the variants must compute the same. */
static void print_conditions(const struct console *console, const struct scenario *scenario)
{
    const struct balance *balance = &scenario->balance;
    char sentence[256];

    if (scenario->needs != ANYWHERE) {
        snprintf(sentence, sizeof sentence, "The bottleneck shows only %s.",
                 wheres[scenario->needs].text);
        fputs("  ", console->stream);
        wrap_print(console->stream, 2, 2, console->width, sentence);
    }
    if (scenario->least_cost.metric != METRIC_NONE) {
        snprintf(sentence, sizeof sentence,
                 "The effect shows only where %s is at least %g%% of a step before.",
                 metric_name(scenario->least_cost.metric), 100 * scenario->least_cost.share);
        fputs("  ", console->stream);
        wrap_print(console->stream, 2, 2, console->width, sentence);
    }
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

void lesson_invocation(const struct console *console, const char *heading, const char *command,
                       const char *scenario)
{
    char line[1024];

    snprintf(line, sizeof line, "%s %s %s", program_invocation_name, command, scenario);
    fprintf(console->stream, "\n%s%s%s\n", console->bold, heading, console->plain);
    wrap_command(console->stream, 2, console->room, line);
}

/* The settings of the base as flags, then the knob: a command that can be pasted. */
static void print_command(const struct console *console, const struct scenario *scenario,
                          const char *value)
{
    char line[1024];
    const char *setting = scenario->base + strspn(scenario->base, " ");

    snprintf(line, sizeof line, "%s train", program_invocation_name);
    while (*setting != '\0') {
        size_t length = strcspn(setting, " "), name = strcspn(setting, "= ");
        if (name < length)
            append_flag(line, sizeof line, setting, name, setting + name + 1, length - name - 1);
        setting += length + strspn(setting + length, " ");
    }
    append_flag(line, sizeof line, scenario->knob, strlen(scenario->knob), value, strlen(value));
    wrap_command(console->stream, 2, console->room, line);
}

void lesson_scenario(const struct console *console, const struct scenario *scenario,
                     const struct measured_before *measured)
{
    FILE *stream = console->stream;

    lesson_title(console, scenario->name, scenario->title);
    lesson_point(console, "Symptom", scenario->symptom);
    lesson_point(console, "Cause", scenario->cause);
    lesson_point(console, "Fix", scenario->fix);
    lesson_point(console, "Look for", scenario->look);
    lesson_point(console, "Cost", scenario->cost);
    fprintf(stream, "\n%sThe one difference%s\n  %s: %s before, %s after\n", console->bold,
            console->plain, scenario->knob, scenario->before, scenario->after);
    fprintf(stream, "\n%sThe same in PyTorch%s\n", console->bold, console->plain);
    print_lines(console, "before", scenario->pytorch.before);
    fputc('\n', stream);
    print_lines(console, "after", scenario->pytorch.after);
    fprintf(stream, "\n%sWhat is expected%s\n", console->bold, console->plain);
    print_expectations(console, scenario);
    print_conditions(console, scenario);
    measured_before_print(measured, scenario, console);
    lesson_invocation(console, "Measure it", "run", scenario->name);
    fprintf(stream, "\n%sTry both by hand%s\n", console->bold, console->plain);
    print_command(console, scenario, scenario->before);
    print_command(console, scenario, scenario->after);
}
