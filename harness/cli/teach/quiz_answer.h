/* A set of a quiz as it is shown, answers to its questions, and their marks. */
#pragma once

#include "harness/lab/quiz/quiz_set.h"
#include "harness/text/page.h"

/* The page of a trace, or the counts of a kernel, without what would be the answer: the findings
 * and all names. */
enum status quiz_set_print(const struct page *page, const struct quiz_set *set);

/* The meaning of a factor: "A number: 2 if ..." */
const char *quiz_factor_form(const struct quiz_set *set);

/* A factor is right inside the measured interval or within the first share of what was measured,
 * half right within the second. */
#define QUIZ_RIGHT_WITHIN 0.15
#define QUIZ_HALF_WITHIN  0.35

/* Whether `text` has the form of an answer: a letter of a choice, or for a factor a number above 0,
 * "1.8" or "1.8x". */
bool quiz_answer_is_well_formed(enum quiz_question question, const char *text);

/* The form of a good answer: "a letter from a to e". */
const char *quiz_answer_form(enum quiz_question question);

struct quiz_mark {
    double points;    /* 0, 0.5 or 1 */
    char reason[768]; /* a sentence */
};

/* An answer that is not well formed is wrong, and the reason names it; "" is none. */
struct quiz_mark quiz_answer_mark(const struct quiz_set *set, enum quiz_question question,
                                  const char *text);

const char *quiz_mark_word(const struct quiz_mark *mark); /* "right", "half right", "wrong" */

/* The right answer as text: "b", "1.57". */
void quiz_answer_right(char *text, size_t size, const struct quiz_set *set,
                       enum quiz_question question);

/* "1.57x (1.52 to 1.61)": the measured effect on the step time. */
void quiz_effect(char *text, size_t size, const struct quiz_set *set);
