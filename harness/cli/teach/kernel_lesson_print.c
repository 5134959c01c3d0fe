/* A lesson about kernels as `explain` prints it: its sentences, the lines that differ in three
 * languages, the predicted counts with their names in Nsight Compute, and what an earlier run
 * counted. */
#include "harness/cli/teach/lesson_print.h"

#include "harness/base/words/text.h"
#include "harness/lab/kernel/kernel_output.h"
#include "harness/text/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A language that has no such thing says why. */
static void print_language(const struct page *page, const char *heading, const char *language,
                           const char *comment, const struct lesson_lines *lines)
{
    page_summary(page, "%s", heading);
    if (lines->before == NULL) {
        page_paragraph(page, INK_PLAIN, "Not there: %s.", lines->instead);
        return;
    }
    lesson_lines_print(page, language, comment, "before", lines->before);
    fputs(page->markdown ? "" : "\n", page->console.stream);
    lesson_lines_print(page, language, comment, "after", lines->after);
}

/* Whether one row of values is true of all architectures. */
static bool is_same_everywhere(const struct prediction *prediction)
{
    for (int arch = 1; arch < ARCH_COUNT; arch++)
        if (prediction->before[arch] != prediction->before[0] ||
            prediction->after[arch] != prediction->after[0] ||
            prediction->between[arch] != prediction->between[0])
            return false;
    return true;
}

/* "32 before, 4 after", or that for each architecture. One architecture stands for all if the
 * values are the same on each. */
static void print_values(char *text, size_t size, const struct kernel_lesson *lesson,
                         const struct prediction *prediction)
{
    bool same = is_same_everywhere(prediction);
    int steps[LESSON_VARIANTS], count = lesson_steps(lesson, steps);

    text[0] = '\0';
    for (int arch = 0; arch < (same ? 1 : ARCH_COUNT); arch++) {
        for (int step = 0; step < count; step++)
            text_join(text, size, step == 0 ? "; " : ", ", "%s %s",
                      lesson_count_text(prediction_value(prediction, steps[step], arch),
                                        kernel_counts[prediction->count].unit)
                          .text,
                      lesson_variant_name(steps[step]));
        if (!same)
            text_append(text, size, " on sm_%d", architectures[arch].number);
    }
    if (prediction->within > 0)
        text_append(text, size, ", within %.0f%%", 100 * prediction->within);
}

/* A count with its meaning, its values, and the metric of Nsight Compute that has it. */
static void print_prediction(const struct page *page, const struct kernel_lesson *lesson,
                             const struct prediction *prediction)
{
    const struct kernel_count_row *count = &kernel_counts[prediction->count];
    char values[256], sentence[512];

    print_values(values, sizeof values, lesson, prediction);
    snprintf(sentence, sizeof sentence, "%s: %s. In Nsight Compute: %s", count->meaning, values,
             count->metric);
    page_note(page, count->name, sentence);
}

/* NULL: the earlier run has not counted this lesson. */
static const cJSON *find_measured(const struct benchmark_file *measured, const char *name)
{
    const cJSON *ours = cJSON_GetObjectItemCaseSensitive(measured->root, "chokepoint");
    const cJSON *entry;

    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(ours, "kernels"))
    {
        if (strcmp(json_text_of(entry, "name"), name) == 0)
            return entry;
    }
    return NULL;
}

/* Counts do not depend on the machine, only on the architecture that they are made for. */
static void print_measured(const struct page *page, const struct kernel_lesson *lesson,
                           const struct benchmark_file *measured)
{
    const cJSON *entry = find_measured(measured, lesson->name), *count;

    if (entry == NULL)
        return;
    lesson_part(page, "Counted earlier");
    cJSON_ArrayForEach(count, cJSON_GetObjectItemCaseSensitive(entry, "counts"))
    {
        const char *unit = json_text_of(count, "unit");
        page_note(page, json_text_of(count, "count"),
                  cell("%s before, %s after, on sm_%.0f",
                       lesson_count_text(json_number_of(count, "before"), unit).text,
                       lesson_count_text(json_number_of(count, "after"), unit).text,
                       json_number_of(entry, "arch"))
                      .text);
    }
}

/* The launches before and after, and the one between if the lesson has three steps. */
static void print_difference(const struct page *page, const struct kernel_lesson *lesson)
{
    const struct lesson_launch *launches = lesson->launches;
    bool three = lesson_has_between(lesson);

    page_paragraph(page, INK_PLAIN,
                   "%s before%s%s%s, %s after; kernels/lessons/%s.cu has %s kernels",
                   launches[LESSON_BEFORE].words, three ? ", " : "",
                   three ? launches[LESSON_BETWEEN].words : "", three ? " between" : "",
                   launches[LESSON_AFTER].words, lesson->name, three ? "the" : "both");
}

void kernel_lesson_print(const struct page *page, const struct kernel_lesson *lesson,
                         const struct benchmark_file *measured)
{
    char place[192], kernel[LESSON_NAME_SIZE];
    int steps[LESSON_VARIANTS];

    lesson_title(page, lesson->name, lesson->title);
    lesson_point(page, "Also called", lesson->also);
    lesson_point(page, "Symptom", lesson->symptom);
    lesson_point(page, "Cause", lesson->cause);
    lesson_point(page, "Fix", lesson->fix);
    lesson_point(page, "Look for", lesson->look);
    lesson_point(page, "Cost", lesson->cost);
    snprintf(place, sizeof place, "section %s%s%s%s", lesson->section,
             lesson->rule != NULL ? ", rule " : ", no rule",
             lesson->rule != NULL ? lesson->rule : "", " of Nsight Compute");
    lesson_point(page, "In ncu", place);
    page_summary(page, "The one difference");
    print_difference(page, lesson);
    print_language(page, "In CUDA C", "cuda", "//", &lesson->cuda);
    print_language(page, "In Triton", "python", "#", &lesson->triton);
    print_language(page, "In PyTorch", "python", "#", &lesson->pytorch);
    lesson_part(page, "What is predicted");
    for (int i = 0; i < prediction_count(lesson); i++)
        print_prediction(page, lesson, &lesson->predicted[i]);
    page_paragraph(
        page, INK_PLAIN,
        "Counts of PTX. Requests, sectors and passes are those of the GPU's instructions; "
        "the number of instructions is not, as ptxas makes others. No time follows from "
        "a count alone.");
    print_measured(page, lesson, measured);
    lesson_invocation(page, "Count it", "run", lesson->name);
    page_summary(page, "See each line by line");
    page_code_begin(page, "sh");
    for (int step = 0; step < lesson_steps(lesson, steps); step++) {
        lesson_kernel_name(kernel, lesson, steps[step]);
        lesson_command(page, "kernel", kernel);
    }
    page_code_end(page);
}

/* For a quiz: the counts of one variant, without its name. A count that is not defined for the
 * kernel is NaN and left out. */
void kernel_counts_print(const struct page *page, const struct kernel_lesson *lesson, int variant,
                         const struct lesson_counts *counts)
{
    static const struct column columns[] = { { "count", -22, 0 },
                                             { "value", 10, 0 },
                                             { "meaning", PAGE_WRAP, 0 } };
    const struct lesson_launch *launch = &lesson->launches[variant];
    unsigned blocks = launch->blocks[ARCH_90] * (launch->blocks_y > 0 ? launch->blocks_y : 1);

    page_paragraph(page, INK_PLAIN, "A kernel of %u blocks of %u threads, counted for sm_%d.",
                   blocks, launch->threads * (launch->threads_y > 0 ? launch->threads_y : 1),
                   architectures[ARCH_90].number);
    page_table(page, columns, ARRAY_SIZE(columns));
    for (int i = KERNEL_COUNT_FIRST; i < KERNEL_COUNT_COUNT; i++)
        if (!isnan(counts->of[i]))
            PAGE_LINE(page, columns, kernel_counts[i].name,
                      lesson_count_text(counts->of[i], kernel_counts[i].unit).text,
                      kernel_counts[i].meaning);
}
