/* chokepoint explain: what a scenario teaches, what it expects, and how to try both variants by
 * hand; and what a finding means, and which scenarios show it.
 *
 * The words are those of the rows: scenarios, kernel_lessons and rules. One lesson is printed by
 * lesson_print.h, or kernel_lesson_print.c; this file decides which, and puts several into one
 * document, which as Markdown is a hand-out for a class. An earlier result adds what was
 * measured. */
#include "harness/base/words/text.h"
#include "harness/cli/job/choose.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/line/flags.h"
#include "harness/cli/teach/lesson_print.h"
#include "harness/desk/diagnosis/checklist.h"
#include "harness/text/wrap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char FINDINGS[] = "findings"; /* stands for all of them */
static const char CHECKLIST[] = "checklist";

struct explain {
    struct flags flags;
    const char *result;             /* NULL: not given */
    int markdown;                   /* 0 or 1, which its words stand for */
    struct benchmark_file measured; /* the result of an earlier run; all zero: none */
};

/* --- A finding --- */

/* `best` comes first; NULL: none shows it. The scenario that shows the finding best is named
 * first. */
static void print_shown_by(const struct page *page, const struct scenario *best, const char *id)
{
    char names[512];

    if (best == NULL) {
        lesson_point(page, "Shown by", "no scenario; diagnose finds it in traces");
        return;
    }
    snprintf(names, sizeof names, "%s", best->name);
    for (int i = 0; scenarios[i] != NULL; i++)
        if (scenarios[i] != best && scenario_shows(scenarios[i], id))
            text_append(names, sizeof names, ", %s", scenarios[i]->name);
    lesson_point(page, "Shown by", names);
}

static void print_finding(const struct page *page, const struct rule *rule)
{
    const struct scenario *best = scenario_showing(rule->id);
    char severity[240];

    snprintf(
        severity, sizeof severity,
        "none below %.0f%% of a step, minor below %.0f%%, major below %.0f%%, else critical; but "
        "minor if it is a guess, overlaps with another finding, or comes after another's fix",
        100 * RULE_SHARE_LEAST, 100 * RULE_SHARE_MAJOR, 100 * RULE_SHARE_CRITICAL);
    lesson_title(page, rule->id, rule->title);
    lesson_point(page, "Also called", rule->also);
    lesson_point(page, "Symptom", rule->symptom);
    lesson_point(page, "Meaning", rule->meaning);
    lesson_point(page, "Fix", rule->advice);
    lesson_point(page, "Cost", rule->cost);
    lesson_point(page, "Threshold", rule->threshold);
    if (!rule->costs_no_time)
        lesson_point(page, "Severity", severity);
    print_shown_by(page, best, rule->id);
    if (best != NULL) {
        lesson_invocation(page, "Explain its scenario", "explain", best->name);
        lesson_invocation(page, "Try it in miniature", "run", best->name);
    }
    lesson_own_program(page, rule->id);
}

/* --- The checklist --- */

/* The ids of the rules whose findings say no. */
static void print_says_no(const struct page *page, const struct checklist_question *question)
{
    const struct rule *rule;
    char names[512] = "";

    for (int i = 0; (rule = rule_at(i)) != NULL; i++)
        if (checklist_asks(question, rule))
            text_join(names, sizeof names, ", ", "%s", rule->id);
    lesson_point(page, "No, if", names);
}

static void print_checklist(const struct page *page)
{
    lesson_title(page, CHECKLIST,
                 "seven questions that guides on the speed of training ask, in their order");
    for (int i = 0; i < CHECKLIST_COUNT; i++) {
        const struct checklist_question *question = &checklist_questions[i];
        char heading[96];
        snprintf(heading, sizeof heading, "%d. %s", i + 1, question->text);
        lesson_part(page, heading);
        lesson_point(page, "Meaning", question->meaning);
        print_says_no(page, question);
        lesson_point(page, "Guides", question->sources);
    }
    fputc('\n', page->console.stream);
    page_paragraph(
        page, INK_DIM,
        "diagnose TRACE --checklist answers them, and explain FINDING says what a finding means.");
}

/* --- The head of a hand-out --- */

static const char *const uses[] = {
    "Read the symptom first, and say what the cause may be before you read on.",
    "Run the commands of a lesson, and compare with what is expected. Where it says what was "
    "measured "
    "earlier, that is of one machine; yours gives other factors.",
    "chokepoint run leaves a trace of each variant. Open both in https://ui.perfetto.dev, or print "
    "them with chokepoint diagnose, and find what the lesson says to look for.",
    "Compare the gain that diagnose predicts with the effect that run measured.",
};

/* A heading within a hand-out, which is Markdown only. */
static void print_head(const struct page *page, const char *title)
{
    fputc('\n', page->console.stream);
    page_title(page, title);
}

static void print_use(const struct page *page, bool findings)
{
    fputs("# Bottlenecks of training, one at a time\n", page->console.stream);
    page_paragraph(
        page, INK_PLAIN,
        "A lesson about a scenario shows one bottleneck: its symptom, cause and fix, what "
        "the fix costs, and where to look in a trace. Before and after differ in one "
        "setting; the lines of PyTorch have the same difference.");
    if (findings)
        page_paragraph(page, INK_PLAIN,
                       "A lesson about a finding says what diagnose means by it, and how it "
                       "computes the cost.");
    print_head(page, "How to use it");
    fputc('\n', page->console.stream);
    for (size_t i = 0; i < ARRAY_SIZE(uses); i++)
        fprintf(page->console.stream, "%zu. %s\n", i + 1, uses[i]);
    page_paragraph(page, INK_PLAIN,
                   "Commands begin with %s. Where that is not installed, write the path of the "
                   "program, such as build/chokepoint.",
                   program_invocation_short_name);
}

/* A group without a chosen scenario has no heading. */
static void print_contents_of_group(const struct page *page, const struct choice *choice,
                                    enum group group)
{
    bool is_first = true;
    char heading[128];

    snprintf(heading, sizeof heading, "%s: %s", scenario_groups[group].name,
             scenario_groups[group].text);
    for (int i = 0; i < CHOICE_MAX && scenarios[i] != NULL; i++) {
        if (!choice->chosen[i] || scenarios[i]->group != group)
            continue;
        if (is_first)
            lesson_part(page, heading);
        lesson_contents(page, scenarios[i]->name, scenarios[i]->title);
        is_first = false;
    }
}

static void print_contents_of_kernels(const struct page *page, const struct choice *choice)
{
    char heading[128];

    if (choice_lessons(choice) == 0)
        return;
    snprintf(heading, sizeof heading, "%s: %s", scenario_groups[GROUP_GPU_KERNELS].name,
             scenario_groups[GROUP_GPU_KERNELS].text);
    lesson_part(page, heading);
    for (int i = 0; i < CHOICE_LESSONS_MAX && kernel_lessons[i] != NULL; i++)
        if (choice->lessons[i])
            lesson_contents(page, kernel_lessons[i]->name, kernel_lessons[i]->title);
}

/* The head of a hand-out: title, how to use it, and links to the lessons below. */
static void begin_hand_out(const struct page *page, const struct choice *choice, bool findings)
{
    const struct rule *rule;

    print_use(page, findings);
    print_head(page, "Contents");
    for (int group = GROUP_FIRST; group < GROUP_COUNT; group++)
        print_contents_of_group(page, choice, (enum group)group);
    print_contents_of_kernels(page, choice);
    if (findings)
        lesson_part(page, "findings: what diagnose finds in traces");
    for (int i = 0; findings && (rule = rule_at(i)) != NULL; i++)
        lesson_contents(page, rule->id, rule->title);
}

/* --- Several lessons --- */

/* Each after what stands above it. */
static void print_between(const struct page *page, bool *is_first)
{
    fputs(*is_first ? "" : "\n\n", page->console.stream);
    *is_first = false;
}

/* `name` stands for scenarios, findings or both. */
static enum status print_several(const struct page *page, const char *name,
                                 const struct benchmark_file *measured)
{
    struct choice choice = { .chosen = { false } };
    bool findings = strcmp(name, FINDINGS) == 0 || strcmp(name, "all") == 0;
    /* Below the contents of a hand-out the first lesson needs a gap too. */
    bool is_first = !page->markdown;

    if (strcmp(name, FINDINGS) != 0)
        TRY(choice_add(&choice, name));
    if (page->markdown)
        begin_hand_out(page, &choice, findings);
    /* By what is at fault, as `list` has them. */
    for (int group = GROUP_FIRST; group < GROUP_COUNT; group++) {
        for (int i = 0; i < CHOICE_MAX && scenarios[i] != NULL; i++) {
            if (!choice.chosen[i] || (int)scenarios[i]->group != group)
                continue;
            print_between(page, &is_first);
            lesson_scenario(page, scenarios[i], measured);
        }
    }
    for (int i = 0; i < CHOICE_LESSONS_MAX && kernel_lessons[i] != NULL; i++) {
        if (!choice.lessons[i])
            continue;
        print_between(page, &is_first);
        kernel_lesson_print(page, kernel_lessons[i], measured);
    }
    if (findings) {
        const struct rule *rule;

        for (int i = 0; (rule = rule_at(i)) != NULL; i++) {
            print_between(page, &is_first);
            print_finding(page, rule);
        }
    }

    return STATUS_OK;
}

/* --- The command --- */

static enum status list_all(const struct page *page, void *context, int *exit_code)
{
    if (page->markdown)
        FAIL(STATUS_BAD_USAGE, "--format=markdown: name what is to be explained, or all");
    TRY(command_list.run(context, exit_code));
    const struct rule *rule;
    /* The column of the titles in `list`, whose output stands above. */
    enum { COLUMN = 24 };
    printf("\n%sfindings%s: what diagnose finds in traces\n", page->console.bold,
           page->console.plain);
    for (int i = 0; (rule = rule_at(i)) != NULL; i++) {
        printf("  %-*s", COLUMN - 2, rule->id);
        wrap_print(stdout, COLUMN, COLUMN, page->console.width, rule->title);
    }
    printf("\n%s ", program_invocation_name);
    wrap_print(stdout, wrap_columns(program_invocation_name) + 1, 0, page->console.width,
               "explain NAME says what a scenario teaches or a finding means; NAME may be all "
               "or findings.");

    return STATUS_OK;
}

/* Some names are of a scenario and of a finding: then both are explained. */
static enum status print_one(const struct page *page, const char *name,
                             const struct benchmark_file *measured)
{
    struct called called = choose_called(name);
    char advice[NEAREST_ADVICE];
    bool is_first = true;

    choose_advice(advice, name, true);
    if (called.scenario == NULL && called.lesson == NULL && called.rule == NULL)
        FAIL(STATUS_BAD_USAGE, "there is no scenario or finding %.60s%s",
             name[0] != '\0' ? name : "\"\"", advice);
    if (called.scenario != NULL) {
        print_between(page, &is_first);
        lesson_scenario(page, called.scenario, measured);
    }
    if (called.lesson != NULL) {
        print_between(page, &is_first);
        kernel_lesson_print(page, called.lesson, measured);
    }
    if (called.rule != NULL) {
        print_between(page, &is_first);
        print_finding(page, called.rule);
    }

    return STATUS_OK;
}

static enum status run_explain(void *context, int *exit_code)
{
    struct explain *explain = context;
    const struct flags *flags = &explain->flags;
    struct page page =
        explain->markdown ? page_markdown(stdout) : page_console(stdout, flags->color);
    const char *name = flags->argument_count > 0 ? flags->arguments[0] : NULL;

    if (name == NULL) {
        TRY(list_all(&page, context, exit_code));
        return STATUS_OK;
    }
    if (flags->argument_count > 1)
        FAIL(STATUS_BAD_USAGE,
             "explain takes one name; unexpected \"%.60s\"; quote a name of several words",
             flags->arguments[1]);
    if (explain->result != NULL)
        TRY(benchmark_file_read(&explain->measured, explain->result, BENCHMARK_TIME));
    else /* A result that cannot be read there is not missed: explain needs none. */
        benchmark_file_read(&explain->measured, flags->out, BENCHMARK_TIME);
    if (strcmp(name, CHECKLIST) == 0)
        print_checklist(&page);
    else if (choice_is_several(name) || strcmp(name, FINDINGS) == 0)
        TRY(print_several(&page, name, &explain->measured));
    else
        TRY(print_one(&page, name, &explain->measured));

    return STATUS_OK;
}

static void release_explain(void *context)
{
    struct explain *explain = context;

    benchmark_file_release(&explain->measured);
}

static const struct option_row options[] = {
    { "result", "PATH",
      "result of run, whose effects are shown beside what is expected; chokepoint-result if not "
      "given",
      2, value_text, .offset = offsetof(struct explain, result) },
    { "format", "console|markdown",
      "format of what is printed; of several lessons, markdown is a hand-out with contents", 3,
      value_choice, .offset = offsetof(struct explain, markdown) },
    FLAG_COLOR,
    FLAG_VERBOSE,
    OPTIONS_END,
};

const struct command command_explain = {
    .name = "explain",
    .text = "what a scenario teaches, or a finding means",
    .arguments = "[NAME|GROUP|core|findings|checklist|all]",
    .help = "Explains a scenario: symptom, cause, fix and its cost, where to look, the same in "
            "PyTorch, what is expected and was measured earlier, and the commands that run its two "
            "variants by hand; of a pair of kernels, what is predicted, and where Nsight Compute "
            "shows it. Explains a finding of diagnose: symptom, meaning, fix, how its cost "
            "is computed, the threshold with its source, and which scenarios show it. Lists "
            "scenarios and findings if none is named.\v"
            "Examples:\n"
            "  chokepoint explain item_sync\n"
            "  chokepoint explain host_sync    a finding\n"
            "  chokepoint explain bank_conflicts\n"
            "  chokepoint explain findings     all of them\n"
            "  chokepoint explain checklist    seven questions, in their order\n"
            "  chokepoint explain all\n"
            "  chokepoint explain all --format=markdown >hand-out.md    for a class",
    .options = options,
    .context_size = sizeof(struct explain),
    .run = run_explain,
    .release = release_explain,
};
