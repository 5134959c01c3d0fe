/* The lesson of a scenario, for terminals and as Markdown: what its row says, the commands that try
 * both variants, and what an earlier run measured. Lessons of kernels are made of the same parts
 * (kernel_lesson_print.c). */
#include "harness/cli/teach/lesson_print.h"

#include "harness/base/words/text.h"
#include "harness/desk/compare/trial/trial.h"
#include "harness/lab/experiment/result.h"
#include "harness/lab/result/result_summary.h"
#include "harness/text/json.h"
#include "harness/text/wrap.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINE_SIZE = 1024, TITLE_SIZE = 256 };

void lesson_title(const struct page *page, const char *name, const char *title)
{
    const struct console *console = &page->console;
    char text[TITLE_SIZE];

    if (page->markdown) {
        snprintf(text, sizeof text, "%s: %s", name, title);
        page_title(page, text);
    } else {
        fprintf(console->stream, "%s%s%s: ", console->bold, name, console->plain);
        wrap_print(console->stream, wrap_columns(name) + 2, 2, console->width, title);
    }
    fputc('\n', console->stream);
}

/* A word and its text, in two columns on a terminal; a list item in Markdown. */
void lesson_point(const struct page *page, const char *word, const char *text)
{
    const struct console *console = &page->console;

    if (page->markdown) {
        page_note(page, word, text);
        return;
    }
    fprintf(console->stream, "  %s%-12s%s", console->bold, word, console->plain);
    wrap_print(console->stream, 14, 14, console->width, text);
}

void lesson_contents(const struct page *page, const char *name, const char *title)
{
    char text[TITLE_SIZE];

    snprintf(text, sizeof text, "%s: %s", name, title);
    page_contents(page, text);
}

/* Some readers of Markdown want an empty line before a list. */
void lesson_part(const struct page *page, const char *heading)
{
    page_summary(page, "%s", heading);
    fputs(page->markdown ? "\n" : "", page->console.stream);
}

/* Each expectation: the metric, how much it must change, and what it means. */
static void print_expectation(const struct page *page, const struct expectation *expectation)
{
    const struct console *console = &page->console;
    char promise[160], sentence[512];

    summary_expectation(promise, sizeof promise, expectation);
    snprintf(sentence, sizeof sentence, "%s%s%s%s%s", promise,
             expectation->is_cost ? ", the cost of the fix" : "",
             expectation->exact ? ", identical in all repetitions" : "",
             expectation->where != ANYWHERE ? ", " : "", wheres[expectation->where].text);
    if (page->markdown) {
        page_note(page, sentence, metric_text(expectation->metric));
        return;
    }
    fputs("  ", console->stream);
    wrap_print(console->stream, 2, 4, console->width, sentence);
    fprintf(console->stream, "    %s", console->dim);
    wrap_print(console->stream, 4, 4, console->width, metric_text(expectation->metric));
    fputs(console->plain, console->stream);
}

/* The language's own comment says which variant the lines are, so that they can be pasted as they
 * stand. */
void lesson_lines_print(const struct page *page, const char *language, const char *comment,
                        const char *word, const char *lines)
{
    const struct console *console = &page->console;
    const char *indent = page->markdown ? "" : "  ";

    page_code_begin(page, language);
    fprintf(console->stream, "%s%s%s %s%s\n", indent, console->dim, comment, word, console->plain);
    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");
        fprintf(console->stream, "%s%.*s\n", length > 0 ? indent : "", (int)length, lines);
        lines += length + (lines[length] == '\n');
    }
    page_code_end(page);
}

/* When the effect shows, and how far the variants must compute the same. */
static void print_conditions(const struct page *page, const struct scenario *scenario)
{
    const struct balance *balance = &scenario->balance;

    if (scenario->needs != ANYWHERE)
        page_paragraph(page, INK_PLAIN, "The bottleneck shows only %s.",
                       wheres[scenario->needs].text);
    if (scenario->least_cost.metric != METRIC_NONE)
        page_paragraph(page, INK_PLAIN,
                       "The effect shows only where %s is at least %g%% of a step %s.",
                       metric_name(scenario->least_cost.metric), 100 * scenario->least_cost.share,
                       variant_name(scenario->least_cost.variant));
    if (balance->kind != BALANCE_NONE)
        page_paragraph(page, INK_PLAIN,
                       "The effect shows only while %s work is between %g and %g times %s work; "
                       "the size of the JPEG files is chosen to meet that.",
                       balances[balance->kind].over, balance->low, balance->high,
                       balances[balance->kind].under);
    page_paragraph(page, INK_PLAIN, "The losses of the first steps %s.",
                   loss_checks[scenario->loss].text);
}

/* A flag: the knob's name with '-' for '_'. */
static void append_flag(char *line, size_t size, const char *name, size_t name_length,
                        const char *value, size_t value_length)
{
    size_t length = strlen(line);

    text_append(line, size, " --%.*s=%.*s", (int)name_length, name, (int)value_length, value);
    for (char *letter = line + length; *letter != '\0' && *letter != '='; letter++)
        if (*letter == '_')
            *letter = '-';
}

/* As it was called; in a document, which others read, without the folder. */
static const char *program_name(const struct page *page)
{
    return page->markdown ? program_invocation_short_name : program_invocation_name;
}

static void print_command(const struct page *page, const char *line)
{
    wrap_command(page->console.stream, page->markdown ? 0 : 2, page->console.room, line);
}

void lesson_command(const struct page *page, const char *command, const char *name)
{
    char line[LINE_SIZE];

    snprintf(line, sizeof line, "%s %s %s", program_name(page), command, name);
    print_command(page, line);
}

void lesson_invocation(const struct page *page, const char *heading, const char *command,
                       const char *scenario)
{
    page_summary(page, "%s", heading);
    page_code_begin(page, "sh");
    lesson_command(page, command, scenario);
    page_code_end(page);
}

/* The settings of the base as flags, then the knob: a command that can be pasted. */
static void print_train(const struct page *page, const struct scenario *scenario, const char *value)
{
    char line[LINE_SIZE];
    /* The base is text, "name=value name=value", as scenarios have it. */
    const char *setting = scenario->base + strspn(scenario->base, " ");

    snprintf(line, sizeof line, "%s train", program_name(page));
    while (*setting != '\0') {
        size_t length = strcspn(setting, " "), name = strcspn(setting, "= ");
        if (name < length)
            append_flag(line, sizeof line, setting, name, setting + name + 1, length - name - 1);
        setting += length + strspn(setting + length, " ");
    }
    append_flag(line, sizeof line, scenario->knob, strlen(scenario->knob), value, strlen(value));
    print_command(page, line);
}

/* METRIC_NONE: this version does not know it. Searched from the end; METRIC_NONE comes before the
 * first metric. */
static enum metric metric_of(const char *name)
{
    int metric = METRIC_COUNT - 1;

    while (metric > METRIC_NONE && strcmp(name, metric_name((enum metric)metric)) != 0) metric--;
    return (enum metric)metric;
}

/* `coverage` is that of the scenario: all its intervals come from the same pairs. */
static void print_measured_effect(const struct page *page, const cJSON *entry, double coverage)
{
    enum metric metric = metric_of(json_text_of(entry, "metric"));
    bool shrinks = strcmp(json_text_of(entry, "direction"), "shrinks") == 0;
    const cJSON *interval = cJSON_GetObjectItemCaseSensitive(entry, "interval");
    const struct effect effect = { json_number_of(entry, "before"), json_number_of(entry, "after"),
                                   json_number_of(entry, "effect"), json_number_at(interval, 0),
                                   json_number_at(interval, 1),     coverage };
    struct change_text change;
    char words[256];

    if (metric == METRIC_NONE || !isfinite(effect.before) || !isfinite(effect.after))
        return;
    change = effect_words(&effect, metric, shrinks ? SHRINKS : GROWS);
    snprintf(words, sizeof words, "%s%s%s%s", change.effect, change.interval[0] != '\0' ? " (" : "",
             change.interval, change.interval[0] != '\0' ? ")" : "");
    page_note(page, metric_name(metric), words);
}

/* A metric has several expectations if devices differ; its effect is one. */
static bool is_repeated(const cJSON *expectation)
{
    const cJSON *before = expectation->prev;

    return before->next != NULL &&
           strcmp(json_text_of(before, "metric"), json_text_of(expectation, "metric")) == 0;
}

/* The verdict of an earlier run, then a line per expectation; nothing if that run has none. */
static void print_measured(const struct page *page, const struct scenario *scenario,
                           const struct benchmark_file *measured)
{
    const cJSON *entry =
        workload_scenario(measured->root, scenario->name, strlen(scenario->name), false);
    const cJSON *expectations = cJSON_GetObjectItemCaseSensitive(entry, "expectations"),
                *expectation;
    const char *device = json_text_of(cJSON_GetObjectItemCaseSensitive(entry, "device"), "name");
    char date[64];

    if (cJSON_GetArraySize(expectations) == 0)
        return;
    benchmark_file_context(measured, "date", date, sizeof date);
    page_summary(page, "Measured earlier");
    page_paragraph(page, INK_PLAIN, "%s on %s, %s (%s)", json_text_of(entry, "verdict"),
                   device[0] != '\0' ? device : "an unknown device",
                   date[0] != '\0' ? date : "at an unknown date", measured->path);
    fputs(page->markdown ? "\n" : "", page->console.stream);
    cJSON_ArrayForEach(expectation, expectations)
    {
        if (!is_repeated(expectation))
            print_measured_effect(page, expectation, json_number_of(entry, "coverage"));
    }
}

void lesson_own_program(const struct page *page, const char *finding)
{
    char words[128];

    if (!trial_knows(finding))
        return;
    snprintf(words, sizeof words, "--only=%s -- python train.py", finding);
    lesson_invocation(page, "In your own program", "try", words);
}

/* The first finding of the scenario for which there is a switch or a fix. */
static const char *tried_finding(const struct scenario *scenario)
{
    for (int i = 0; i < SCENARIO_FINDINGS && scenario->accept[i].id != NULL; i++)
        if (trial_knows(scenario->accept[i].id))
            return scenario->accept[i].id;
    return "";
}

void lesson_scenario(const struct page *page, const struct scenario *scenario,
                     const struct benchmark_file *measured)
{
    lesson_title(page, scenario->name, scenario->title);
    lesson_point(page, "Also called", scenario->also);
    lesson_point(page, "Symptom", scenario->symptom);
    lesson_point(page, "Cause", scenario->cause);
    lesson_point(page, "Fix", scenario->fix);
    lesson_point(page, "Look for", scenario->look);
    lesson_point(page, "Cost", scenario->cost);
    page_summary(page, "The one difference");
    page_paragraph(page, INK_PLAIN, "%s: %s before, %s after", scenario->knob, scenario->before,
                   scenario->after);
    page_summary(page, "The same in PyTorch");
    lesson_lines_print(page, "python", "#", "before", scenario->pytorch.before);
    fputs(page->markdown ? "" : "\n", page->console.stream);
    lesson_lines_print(page, "python", "#", "after", scenario->pytorch.after);
    lesson_part(page, "What is expected");
    for (int i = 0; i < SCENARIO_EXPECTATIONS && !expectation_is_end(&scenario->expect[i]); i++)
        print_expectation(page, &scenario->expect[i]);
    print_conditions(page, scenario);
    print_measured(page, scenario, measured);
    lesson_invocation(page, "Measure it", "run", scenario->name);
    page_summary(page, "Try both by hand");
    page_code_begin(page, "sh");
    print_train(page, scenario, scenario->before);
    print_train(page, scenario, scenario->after);
    page_code_end(page);
    lesson_own_program(page, tried_finding(scenario));
}
