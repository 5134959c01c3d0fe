/* chokepoint explain: what a scenario teaches, what it expects, and how to try both variants by hand; and
 * what a finding means, and which scenarios show it. */
#include "harness/cli/choose.h"
#include "harness/cli/commands.h"
#include "harness/cli/flags.h"
#include "harness/cli/lesson_print.h"
#include "harness/cli/measured_before.h"
#include "harness/diagnosis/findings.h"
#include "harness/diagnosis/lessons.h"
#include "harness/diagnosis/rules.h"
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
        lesson_scenario(console, scenarios[i], measured);
        between = "\n\n";
    }

out:
    return status;
}

/* --- A finding --- */

static void print_severity(const struct console *console)
{
    char sentence[160];

    snprintf(sentence, sizeof sentence,
             "none below %.0f%% of a step, minor below %.0f%%, major below %.0f%%, else critical",
             100 * RULE_SHARE_LEAST, 100 * RULE_SHARE_MAJOR, 100 * RULE_SHARE_CRITICAL);
    lesson_point(console, "Severity", sentence);
}

static void print_finding(const struct console *console, const struct finding_about *about)
{
    const struct lesson *lesson = lesson_find(about->id);
    const struct scenario *best = scenario_showing(about->id);

    lesson_title(console, about->id, about->title);
    if (lesson != NULL) {
        lesson_point(console, "Symptom", lesson->symptom);
        lesson_point(console, "Meaning", lesson->meaning);
    }
    lesson_point(console, "Fix", about->advice);
    if (lesson != NULL)
        lesson_point(console, "Cost", lesson->cost);
    lesson_point(console, "Threshold", about->source);
    if (lesson != NULL && lesson_costs_time(lesson))
        print_severity(console);
    if (best == NULL)
        lesson_point(console, "Shown by", "no scenario; diagnose finds it in traces");
    else
        lesson_point(console, "Shown by", best->name);
    for (int i = 0; scenarios[i] != NULL; i++)
        if (scenarios[i] != best && scenario_shows(scenarios[i], about->id))
            lesson_point(console, "", scenarios[i]->name);
    if (best == NULL)
        return;
    lesson_invocation(console, "Explain its scenario", "explain", best->name);
    lesson_invocation(console, "See it in small", "run", best->name);
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
    is_finding = findings_about_named(&about, name);
    if (choice_is_several(name))
        TRY(print_several(&console, name, &explain->measured));
    else if (scenario_find(name) != NULL)
        lesson_scenario(&console, scenario_find(name), &explain->measured);
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
