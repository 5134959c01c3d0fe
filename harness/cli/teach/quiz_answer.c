/* Shows a set of a quiz, and marks an answer: a letter is right or wrong, a factor also half right.
 * The reason says what was measured, whatever the answer was. */
#include "harness/cli/teach/quiz_answer.h"

#include "harness/base/figures/quantity.h"
#include "harness/cli/teach/lesson_print.h"
#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/desk/page/diagnosis_page.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status quiz_set_print(const struct page *page, const struct quiz_set *set)
{
    enum status status = STATUS_OK;
    const struct diagnosis_view view = { .only = 0, .unnamed = true };
    struct diagnosis diagnosis = { .count = 0 };
    const char *const paths[] = { set->trace };

    if (set->lesson != NULL) {
        kernel_counts_print(page, set->lesson, (int)set->variant, &set->counts);
        return STATUS_OK;
    }
    TRY_OUT(diagnosis_make(&diagnosis, paths, 1, NULL, NULL));
    TRY_OUT(diagnosis_page(page, &diagnosis, &view));

out:
    diagnosis_release(&diagnosis);
    return status;
}

const char *quiz_factor_form(const struct quiz_set *set)
{
    return set->lesson != NULL
               ? "A number: 2 if there would be half or twice as much, 1 if as much as now."
               : "A number: 2 if a step would take half as long, 1 if as long as now.";
}

/* The number of a choice; -1: no such choice. */
static int read_choice(const char *text)
{
    int letter = tolower((unsigned char)text[0]);

    return letter >= 'a' && letter < 'a' + QUIZ_CHOICES && text[1] == '\0' ? letter - 'a' : -1;
}

/* NaN: no factor. "1.8" or "1.8x". strtod() alone would take "nan", "inf" and signs. */
static double read_factor(const char *text)
{
    char *end;
    double factor;

    if (!isdigit((unsigned char)text[0]) && text[0] != '.')
        return NAN;
    factor = strtod(text, &end);
    end += *end == 'x';
    return *end == '\0' && isfinite(factor) && factor > 0 ? factor : NAN;
}

bool quiz_answer_is_well_formed(enum quiz_question question, const char *text)
{
    return question == QUIZ_FACTOR ? isfinite(read_factor(text)) : read_choice(text) >= 0;
}

const char *quiz_answer_form(enum quiz_question question)
{
    return question == QUIZ_FACTOR ? "a factor such as 1.8" : "a letter from a to e";
}

void quiz_effect(char *text, size_t size, const struct quiz_set *set)
{
    char factor[QUANTITY_SIZE], low[QUANTITY_SIZE], high[QUANTITY_SIZE];

    quantity_factor(factor, set->effect);
    quantity_factor(low, set->low);
    quantity_factor(high, set->high);
    if (isfinite(set->low) && isfinite(set->high))
        snprintf(text, size, "%s (%s to %s)", factor, low, high);
    else
        snprintf(text, size, "%s", factor);
}

void quiz_answer_right(char *text, size_t size, const struct quiz_set *set,
                       enum quiz_question question)
{
    if (question == QUIZ_FACTOR)
        snprintf(text, size, "%.3g", quiz_factor(set));
    else
        snprintf(text, size, "%c", 'a' + set->right[question]);
}

/* After the fix the factor is 1, for which there is no measured interval. Inside the measured
 * interval every factor is right, however wide that is. */
static double points_of_factor(const struct quiz_set *set, double factor)
{
    double off = fabs(factor / quiz_factor(set) - 1);
    bool inside = set->variant == VARIANT_BEFORE && factor >= set->low && factor <= set->high;

    return inside || off <= QUIZ_RIGHT_WITHIN ? 1 : off <= QUIZ_HALF_WITHIN ? 0.5 : 0;
}

/* Why an answer about a kernel is right: by what was counted, which is exact. */
static void explain_kernel(char *text, size_t size, const struct quiz_set *set,
                           enum quiz_question question, const char *right)
{
    bool before = set->variant == VARIANT_BEFORE;
    char effect[QUANTITY_SIZE];

    quantity_factor(effect, set->effect);
    if (question == QUIZ_FACTOR && before)
        snprintf(text, size, "counted: what the fix changes most, it changes by %s", effect);
    else if (question == QUIZ_FACTOR)
        snprintf(text, size,
                 "it is the kernel after the fix, so the factor is 1; the fix changed %s", effect);
    else if (!before)
        snprintf(text, size, "the answer is %s: it is the kernel after the fix", right);
    else
        snprintf(text, size, "the answer is %s: %s", right,
                 set->choices[question][set->right[question]]);
}

/* Why the right answer is right: by what was measured, or by what the trace shows. */
static void explain(char *text, size_t size, const struct quiz_set *set,
                    enum quiz_question question)
{
    char right[16], effect[3 * QUANTITY_SIZE + 16], predicted[QUANTITY_SIZE];
    bool before = set->variant == VARIANT_BEFORE;

    quiz_answer_right(right, sizeof right, set, question);
    quiz_effect(effect, sizeof effect, set);
    if (set->lesson != NULL)
        explain_kernel(text, size, set, question, right);
    else if (question == QUIZ_FACTOR && before && isfinite(set->predicted)) {
        quantity_factor(predicted, set->predicted);
        snprintf(
            text, size,
            "measured: the step time before / after is %s; diagnose predicted %s from this trace",
            effect, predicted);
    } else if (question == QUIZ_FACTOR && before)
        snprintf(text, size, "measured: the step time before / after is %s", effect);
    else if (question == QUIZ_FACTOR)
        snprintf(text, size,
                 "the trace is of the step after the fix, so the factor is 1; the fix was measured "
                 "at %s",
                 effect);
    else if (!before)
        snprintf(text, size, "the answer is %s: the trace is of the step after the fix", right);
    else if (question == QUIZ_CAUSE)
        snprintf(text, size, "the answer is %s, %s: %s", right, set->finding, set->evidence);
    else
        snprintf(text, size, "the answer is %s: %s", right,
                 set->choices[question][set->right[question]]);
}

/* An answer that is not well-formed has no points, and the reason says so before the right one. */
struct quiz_mark quiz_answer_mark(const struct quiz_set *set, enum quiz_question question,
                                  const char *text)
{
    struct quiz_mark mark = { .points = 0 };
    char why[640], said[96] = "";

    explain(why, sizeof why, set, question);
    if (text[0] == '\0')
        snprintf(said, sizeof said, "no answer; ");
    else if (!quiz_answer_is_well_formed(question, text))
        snprintf(said, sizeof said, "\"%.40s\" is not %s; ", text, quiz_answer_form(question));
    else if (question == QUIZ_FACTOR)
        mark.points = points_of_factor(set, read_factor(text));
    else
        mark.points = read_choice(text) == set->right[question] ? 1 : 0;
    snprintf(mark.reason, sizeof mark.reason, "%s%s", said, why);
    return mark;
}

const char *quiz_mark_word(const struct quiz_mark *mark)
{
    return mark->points >= 1 ? "right" : mark->points > 0 ? "half right" : "wrong";
}
