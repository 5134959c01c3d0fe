/* chokepoint explain: what a scenario teaches, what it expects, and how to try both variants by hand; and
 * what a finding means, and which scenarios show it. */
#include "harness/cli/choose.h"
#include "harness/cli/commands.h"
#include "harness/cli/flags.h"
#include "harness/cli/measured_before.h"
#include "harness/diagnosis/findings.h"
#include "harness/diagnosis/lessons.h"
#include "harness/diagnosis/rules.h"
#include "harness/report/result_summary.h"
#include "harness/text/wrap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { FINDINGS_MOST = 64 };

static const char FINDINGS[] = "findings"; /* stands for all of them */

struct explain {
    struct flags flags;
    const char *result; /* NULL: not given */
    struct measured_before measured;
};

static void print_title(const struct console *console, const char *name, const char *title)
{
    fprintf(console->stream, "%s%s%s: ", console->bold, name, console->plain);
    wrap_print(console->stream, wrap_columns(name) + 2, 2, console->width, title);
    fputc('\n', console->stream);
}

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

/* A heading, and a command that can be pasted. */
static void print_invocation(const struct console *console, const char *heading,
                             const char *command, const char *scenario)
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

static void print_scenario(const struct console *console, const struct scenario *scenario,
                           const struct measured_before *measured)
{
    FILE *stream = console->stream;

    print_title(console, scenario->name, scenario->title);
    print_point(console, "Symptom", scenario->symptom);
    print_point(console, "Cause", scenario->cause);
    print_point(console, "Fix", scenario->fix);
    print_point(console, "Look for", scenario->look);
    print_point(console, "Cost", scenario->cost);
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
    print_invocation(console, "Measure it", "run", scenario->name);
    fprintf(stream, "\n%sTry both by hand%s\n", console->bold, console->plain);
    print_command(console, scenario, scenario->before);
    print_command(console, scenario, scenario->after);
}

/* --- Several scenarios --- */

static enum status print_several(const struct console *console, const char *name,
                                 const struct measured_before *measured)
{
    struct choice choice = { .chosen = { false } };
    enum status status = STATUS_OK;
    const char *between = "";

    TRY(choice_add(&choice, name));
    for (int i = 0; i < CHOICE_MAX; i++) {
        if (!choice.chosen[i])
            continue;
        fputs(between, console->stream);
        print_scenario(console, scenarios[i], measured);
        between = "\n\n";
    }

out:
    return status;
}

/* --- A finding --- */

static bool find_finding(struct finding_about *about, const char *id)
{
    for (int i = 0; findings_about(about, i); i++)
        if (strcmp(about->id, id) == 0)
            return true;
    return false;
}

static void print_severity(const struct console *console)
{
    char sentence[160];

    snprintf(sentence, sizeof sentence,
             "none below %.0f%% of a step, minor below %.0f%%, major below %.0f%%, else critical",
             100 * RULE_SHARE_LEAST, 100 * RULE_SHARE_MAJOR, 100 * RULE_SHARE_CRITICAL);
    print_point(console, "Severity", sentence);
}

static void print_finding(const struct console *console, const struct finding_about *about)
{
    const struct lesson *lesson = lesson_find(about->id);
    const struct scenario *best = scenario_showing(about->id);

    print_title(console, about->id, about->title);
    if (lesson != NULL) {
        print_point(console, "Symptom", lesson->symptom);
        print_point(console, "Meaning", lesson->meaning);
    }
    print_point(console, "Fix", about->advice);
    if (lesson != NULL)
        print_point(console, "Cost", lesson->cost);
    print_point(console, "Threshold", about->source);
    if (lesson != NULL && lesson_costs_time(lesson))
        print_severity(console);
    if (best == NULL)
        print_point(console, "Shown by", "no scenario; diagnose finds it in traces");
    else
        print_point(console, "Shown by", best->name);
    for (int i = 0; scenarios[i] != NULL; i++)
        if (scenarios[i] != best && scenario_shows(scenarios[i], about->id))
            print_point(console, "", scenarios[i]->name);
    if (best == NULL)
        return;
    print_invocation(console, "Explain its scenario", "explain", best->name);
    print_invocation(console, "See it in small", "run", best->name);
}

static void print_findings(const struct console *console, const char *between)
{
    struct finding_about about;

    for (int i = 0; findings_about(&about, i); i++) {
        fputs(between, console->stream);
        print_finding(console, &about);
        between = "\n\n";
    }
}

/* Without a name. */
static void list_findings(const struct console *console)
{
    struct finding_about about;
    enum { COLUMN = 24 };

    printf("\n%sfindings%s: what diagnose finds in traces\n", console->bold, console->plain);
    for (int i = 0; findings_about(&about, i); i++) {
        printf("  %-*s", COLUMN - 2, about.id);
        wrap_print(stdout, COLUMN, COLUMN, console->width, about.title);
    }
}

/* A misspelt name may be near to a finding's. */
static enum status refuse_name(const char *name)
{
    enum status status = STATUS_OK;
    const char *ids[FINDINGS_MOST], *near;
    struct finding_about about;
    char advice[NEAREST_ADVICE];
    int count = 0;

    while (count < FINDINGS_MOST && findings_about(&about, count)) ids[count++] = about.id;
    near = nearest_name(name, ids, count);
    scenario_advice(advice, name);
    if (strstr(advice, "did you mean") == NULL && near != NULL)
        snprintf(advice, sizeof advice, "; did you mean %s?", near);
    else if (strstr(advice, "did you mean") == NULL)
        snprintf(advice, sizeof advice, "; chokepoint explain lists them");
    FAIL(STATUS_BAD_USAGE, "there is no scenario or finding %.60s%s",
         name[0] != '\0' ? name : "\"\"", advice);

out:
    return status;
}

/* Some names are of a scenario and of a finding: then both are explained. */
static enum status run_explain(void *context, int *exit_code)
{
    enum status status = STATUS_OK;
    struct explain *explain = context;
    const struct flags *flags = &explain->flags;
    struct console console = console_open(stdout, flags->color);
    const char *name = flags->argument_count > 0 ? flags->arguments[0] : NULL;
    struct finding_about about;
    bool is_finding;

    if (name == NULL) {
        TRY(command_list.run(context, exit_code));
        list_findings(&console);
        printf("\n%s ", program_invocation_name);
        wrap_print(stdout, wrap_columns(program_invocation_name) + 1, 0, console.width,
                   "explain NAME says what a scenario teaches or a finding means; NAME may be all "
                   "or findings.");
        goto out;
    }
    if (flags->argument_count > 1)
        FAIL(STATUS_BAD_USAGE, "explain takes one name; unexpected \"%.60s\"", flags->arguments[1]);
    if (explain->result != NULL)
        TRY(measured_before_read(&explain->measured, explain->result));
    else /* A result that cannot be read there is not missed: explain needs none. */
        measured_before_read(&explain->measured, flags->out);
    is_finding = find_finding(&about, name);
    if (choice_is_several(name))
        TRY(print_several(&console, name, &explain->measured));
    else if (scenario_find(name) != NULL)
        print_scenario(&console, scenario_find(name), &explain->measured);
    else if (!is_finding && strcmp(name, FINDINGS) != 0)
        TRY(refuse_name(name));
    if (is_finding) {
        fputs(scenario_find(name) != NULL ? "\n\n" : "", stdout);
        print_finding(&console, &about);
    } else if (strcmp(name, FINDINGS) == 0 || strcmp(name, "all") == 0) {
        print_findings(&console, strcmp(name, "all") == 0 ? "\n\n" : "");
    }

out:
    return status;
}

static void release(void *context)
{
    struct explain *explain = context;

    measured_before_release(&explain->measured);
}

static const struct option_row options[] = {
    { "result", "PATH",
      "result of run, whose effects are shown beside what is expected; chokepoint-result if not "
      "given",
      2, value_text, .offset = offsetof(struct explain, result) },
    FLAG_COLOR,
    FLAG_VERBOSE,
    OPTIONS_END,
};

const struct command command_explain = {
    .name = "explain",
    .text = "what a scenario teaches, or a finding means",
    .arguments = "[SCENARIO|FINDING|GROUP|core|findings|all]",
    .help = "Explains a scenario: symptom, cause, fix and its cost, where to look, the same in "
            "PyTorch, what is expected and was measured earlier, and the commands that run its two "
            "variants by hand. Explains a finding of diagnose: symptom, meaning, fix, how its cost "
            "is computed, the threshold with its source, and which scenarios show it. Lists "
            "scenarios and findings if none is named.\v"
            "Examples:\n"
            "  chokepoint explain item_sync\n"
            "  chokepoint explain host_sync    a finding\n"
            "  chokepoint explain findings     all of them\n"
            "  chokepoint explain all",
    .options = options,
    .context_size = sizeof(struct explain),
    .run = run_explain,
    .release = release,
};
