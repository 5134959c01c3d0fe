/* The set of a quiz: a trace that `run` wrote and kept beside its result, with the questions and their
 * right answers, which come from that result. */
#ifndef HARNESS_LAB_QUIZ_QUIZ_SET_H
#define HARNESS_LAB_QUIZ_QUIZ_SET_H

#include "harness/desk/compare/file/benchmark_file.h"
#include "scenarios/scenario.h"

#include <limits.h>

/* The last choice of each question is that nothing is wrong. */
enum quiz_question {
    QUIZ_CAUSE,
    QUIZ_PLACE,
    QUIZ_CHOSEN,
    QUIZ_FACTOR = QUIZ_CHOSEN,
    QUIZ_QUESTIONS
};
enum { QUIZ_CHOICES = 5, QUIZ_AFTER_ONE_IN = 3 };

struct quiz_set {
    const struct scenario *scenario;
    enum variant variant;
    char trace[PATH_MAX];
    const char *choices[QUIZ_CHOSEN][QUIZ_CHOICES]; /* constants */
    int right[QUIZ_CHOSEN];
    const char *finding;      /* the right one's id; NULL: nothing is wrong */
    const char *evidence;     /* the result's; NULL likewise */
    double predicted;         /* its gain, from the trace; NaN: of no time, or nothing is wrong */
    double effect, low, high; /* step time before / after, as measured; the interval may be NaN */
};

/* Every trace of the result that can be asked about, in an order that the seed gives: of scenarios of this
 * version whose step times were measured, not A/A. The variant before must show a finding that the scenario
 * accepts; after, nothing is wrong. The first is before, and of every beginning of the list at most one in
 * QUIZ_AFTER_ONE_IN is after; those that would be more are left out. */
struct quiz_sets {
    struct quiz_set *items; /* [count] */
    int count;
};

/* `path` is that of the result, a file or its folder; the sets borrow from `result`. BAD_INPUT: there is no such
 * trace. OUT_OF_MEMORY. Release in every case. */
enum status quiz_sets_make(struct quiz_sets *sets, const struct benchmark_file *result,
                           const char *path, uint64_t seed);
void quiz_sets_release(struct quiz_sets *sets);

/* The right factor: the measured one before the fix, 1 after it. */
double quiz_factor(const struct quiz_set *set);

extern const char *const quiz_questions[QUIZ_QUESTIONS];

#endif
