/* The table of `run` for lessons: a row for each predicted count, and a line for what lies between
 * before and after. */
#include "harness/lab/kernel/kernel_output.h"

#include "harness/base/figures/change_text.h"
#include "harness/base/words/text.h"
#include "harness/text/page_rows.h"

#include <math.h>
#include <stdio.h>

enum { COLUMNS = 5, WHOLE_MOST = 1000000, CELL = 48 };

/* By enum lesson_verdict. */
static const char *const verdict_words[] = { "as predicted", "not as predicted", "failed" };

struct quantity_text lesson_count_text(double value, const char *unit)
{
    if (unit[0] == '\0' && value == floor(value) && fabs(value) < WHOLE_MOST)
        return quantity_count((int64_t)value);
    return quantity_of(value, unit);
}

/* A lesson that failed has no counts. */
static int rows_of(const struct lesson_result *result)
{
    return result->verdict != LESSON_FAILED ? prediction_count(result->lesson) : 0;
}

static void print_change(char *text, size_t size, double before, double after)
{
    double factor = before / after;
    const struct change_figures figures = { before, after, factor, factor, factor, 1 };

    if (before == after)
        snprintf(text, size, "the same");
    else
        snprintf(text, size, "%s", change_text(&figures, false).effect);
}

/* The last cell says how closely the prediction was met, or what it was if it was not. */
static void add_row(struct page_rows *rows, const struct lesson_result *result,
                    const struct prediction *prediction)
{
    const struct kernel_count_row *count = &kernel_counts[prediction->count];
    const double *before = result->counts[LESSON_BEFORE].of,
                 *after = result->counts[LESSON_AFTER].of;
    char change[CELL], told[2 * CELL + 16] = "";
    enum ink inks[COLUMNS] = { INK_PLAIN };
    bool holds = true;

    for (int v = LESSON_BEFORE; v <= LESSON_AFTER; v++) {
        double measured = result->counts[v].of[prediction->count];
        holds = holds && prediction_holds(prediction, measured, v, result->arch);
        text_join(
            told, sizeof told, ", ", "%s",
            lesson_count_text(prediction_value(prediction, v, result->arch), count->unit).text);
    }
    print_change(change, sizeof change, before[prediction->count], after[prediction->count]);
    if (holds)
        snprintf(told, sizeof told, prediction->within > 0 ? "within %.0f%%" : "exactly",
                 100 * prediction->within);
    inks[COLUMNS - 1] = holds ? INK_DIM : INK_BAD;
    PAGE_ROW(rows, inks, count->name,
             lesson_count_text(before[prediction->count], count->unit).text,
             lesson_count_text(after[prediction->count], count->unit).text, change, told);
}

static void print_counts(const struct page *page, const struct lesson_result *results, int count)
{
    char text[160];
    bool timed = false;

    snprintf(text, sizeof text, "%d pair%s of kernels", count, count == 1 ? "" : "s");
    for (int verdict = LESSON_AS_PREDICTED; verdict <= LESSON_FAILED; verdict++) {
        int of_it = 0;
        for (int i = 0; i < count; i++) of_it += (int)results[i].verdict == verdict;
        if (of_it > 0)
            text_append(text, sizeof text, "%s %d %s", verdict == LESSON_AS_PREDICTED ? ":" : ",",
                        of_it, verdict_words[verdict]);
    }
    page_summary(page, "%s", text);
    for (int i = 0; i < count; i++) timed = timed || !isnan(results[i].device_ns[LESSON_BEFORE]);
    page_paragraph(page, INK_DIM, "Counted by executing the kernels' PTX, for sm_%d; %s.",
                   architectures[results[0].arch].number,
                   timed ? "times are medians of launches on the GPU, which counted nothing"
                         : "nothing was timed");
}

/* The step in the middle, if there is one: "a tree in shared memory: shared_loads 1600". */
static void print_between(const struct page *page, const struct lesson_result *result)
{
    char text[256];

    if (!lesson_has_between(result->lesson) || result->verdict == LESSON_FAILED)
        return;
    snprintf(text, sizeof text, "Between, %s:", result->lesson->launches[LESSON_BETWEEN].words);
    for (int i = 0; i < rows_of(result); i++) {
        const struct prediction *prediction = &result->lesson->predicted[i];
        const struct kernel_count_row *row = &kernel_counts[prediction->count];
        double measured = result->counts[LESSON_BETWEEN].of[prediction->count];
        double predicted = prediction_value(prediction, LESSON_BETWEEN, result->arch);
        text_append(text, sizeof text, "%s %s %s", i > 0 ? "," : "", row->name,
                    lesson_count_text(measured, row->unit).text);
        if (!prediction_holds(prediction, measured, LESSON_BETWEEN, result->arch))
            text_append(text, sizeof text, " (predicted: %s)",
                        lesson_count_text(predicted, row->unit).text);
    }
    page_paragraph(page, INK_DIM, "%s.", text);
}

/* "12.3 us before, 3.2 us after: 3.85x faster, on the GPU". */
static void print_times(const struct page *page, const struct lesson_result *result)
{
    char text[160] = "";
    int steps[LESSON_VARIANTS], count = lesson_steps(result->lesson, steps);
    double before = result->device_ns[LESSON_BEFORE], after = result->device_ns[LESSON_AFTER];

    if (isnan(before) || isnan(after))
        return;
    for (int step = 0; step < count; step++)
        text_join(text, sizeof text, ", ", "%s %s",
                  quantity_time(result->device_ns[steps[step]]).text,
                  lesson_variant_name(steps[step]));
    page_paragraph(page, INK_PLAIN, "Timed: %s; %.2fx %s.", text,
                   before > after ? before / after : after / before,
                   before > after ? "faster" : "slower");
}

/* Rows of all lessons are fitted together, so that columns line up from one lesson to the next. */
void lesson_table(const struct page *page, const struct lesson_result *results, int count)
{
    static const struct column columns[COLUMNS] = {
        { "", -22, 0 },       { "before", 9, 0 },      { "after", 9, 0 },
        { "change", -12, 0 }, { "predicted", -12, 0 },
    };
    struct page_rows *rows;
    int row = 0;

    if (count == 0)
        return;
    rows = page_rows_open(columns, COLUMNS);
    for (int i = 0; i < count; i++)
        for (int n = 0; n < rows_of(&results[i]); n++)
            add_row(rows, &results[i], &results[i].lesson->predicted[n]);
    page_rows_fit(page, rows);
    if (!page->markdown)
        page_rows_heading(page, rows);
    for (int i = 0; i < count; i++) {
        const struct kernel_lesson *lesson = results[i].lesson;
        int end = row + rows_of(&results[i]);
        bool well = results[i].verdict == LESSON_AS_PREDICTED;
        char change[160];
        snprintf(change, sizeof change, "%s -> %s", lesson->launches[0].words,
                 lesson->launches[1].words);
        page_entry(page, lesson->name, change, well ? INK_GOOD : INK_BAD,
                   well ? "counts moved as predicted" : verdict_words[results[i].verdict]);
        if (page->markdown && end > row)
            page_rows_heading(page, rows);
        page_rows_range(page, rows, row, end);
        print_between(page, &results[i]);
        print_times(page, &results[i]);
        if (results[i].reason[0] != '\0')
            page_paragraph(page, INK_PLAIN, "%s", results[i].reason);
        row = end;
    }
    page_rows_close(rows);
    print_counts(page, results, count);
}
