#include "harness/cli/teach/hand_out.h"

#include "harness/cli/teach/lesson_print.h"
#include "harness/desk/diagnosis/rules/rules.h"
#include "scenarios/gpu_kernels/kernel_lessons.h"

#include <errno.h>
#include <stdio.h>

static const char *const advice[] = {
    "Read the symptom first, and say what the cause may be before you read on.",
    "Run the commands of a lesson, and compare with what is expected. Where it says what was "
    "measured "
    "earlier, that is of one machine; yours gives other factors.",
    "chokepoint run leaves a trace of each variant. Open both in https://ui.perfetto.dev, or print "
    "them with chokepoint diagnose, and find what the lesson says to look for.",
    "Compare the gain that diagnose predicts with the effect that run measured.",
};

static void print_title(const struct page *page, const char *title)
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
    print_title(page, "How to use it");
    fputc('\n', page->console.stream);
    for (size_t i = 0; i < ARRAY_SIZE(advice); i++)
        fprintf(page->console.stream, "%zu. %s\n", i + 1, advice[i]);
    page_paragraph(page, INK_PLAIN,
                   "Commands begin with %s. Where that is not installed, write the path of the "
                   "program, such as build/chokepoint.",
                   program_invocation_short_name);
}

static void print_group(const struct page *page, const struct choice *choice, enum group group)
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

static void print_kernels(const struct page *page, const struct choice *choice)
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

void hand_out_begin(const struct page *page, const struct choice *choice, bool findings)
{
    const struct rule *rule;

    print_use(page, findings);
    print_title(page, "Contents");
    for (int group = GROUP_FIRST; group < GROUP_COUNT; group++)
        print_group(page, choice, (enum group)group);
    print_kernels(page, choice);
    if (findings)
        lesson_part(page, "findings: what diagnose finds in traces");
    for (int i = 0; findings && (rule = rule_at(i)) != NULL; i++)
        lesson_contents(page, rule->id, rule->title);
}
