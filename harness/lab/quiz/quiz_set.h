/* The set of a quiz: a trace that `run` wrote and kept beside its result, with the questions and
 * their right answers, which come from that result; or the counts of a kernel of a lesson, which
 * are counted for the quiz. */
#pragma once

#include "harness/base/random.h"
#include "harness/desk/compare/file/benchmark_file.h"
#include "harness/lab/kernel/lesson_run.h"
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
    const struct scenario *scenario;    /* NULL: it is a kernel's */
    const struct kernel_lesson *lesson; /* NULL: it is a trace's */
    enum variant variant;
    char trace[PATH_MAX];                           /* of a scenario */
    struct lesson_counts counts;                    /* of a kernel's variant */
    const char *choices[QUIZ_CHOSEN][QUIZ_CHOICES]; /* constants */
    int right[QUIZ_CHOSEN];
    const char *finding;  /* the right one's id; NULL: nothing is wrong */
    const char *evidence; /* the result's; NULL as well */
    double predicted;     /* its gain, from the trace; NaN: of no time, or nothing is wrong */
    double effect, low,
        high; /* step time before / after, as measured; the interval may be NaN. For a kernel, the
                 count that shows it most, the larger over the smaller */
};

/* Every trace of the result that can be asked about, in an order that the seed gives: of scenarios
 * of this version whose step times were measured, not A/A. The variant before must show a finding
 * that the scenario accepts; after, nothing is wrong. The first is before, and among the first n
 * at most one in QUIZ_AFTER_ONE_IN is after; the others of those are left out. */
struct quiz_sets {
    struct quiz_set *items; /* [count] */
    int count;
};

/* `path` is that of the result, a file or its folder; the sets borrow from `result`. BAD_INPUT:
 * there is no such trace. OUT_OF_MEMORY. Release in every case. */
enum status quiz_sets_make(struct quiz_sets *sets, const struct benchmark_file *result,
                           const char *path, uint64_t seed);

/* The same of all kernel lessons, which are executed for it. Lessons whose fix leaves none of what
 * they count are left out, as no factor says that. */
enum status quiz_kernel_sets_make(struct quiz_sets *sets, uint64_t seed);
void quiz_sets_release(struct quiz_sets *sets);

/* The right factor: the measured one before the fix, 1 after it. */
double quiz_factor(const struct quiz_set *set);

const char *quiz_question_text(const struct quiz_set *set, enum quiz_question question);
const char *quiz_set_name(const struct quiz_set *set); /* of the scenario, or of the lesson */

/* The parts that the makers of a quiz's sets share: choices, and the order of the sets. */

/* Streams of random numbers: those of sets begin at the first. */
enum { QUIZ_ORDER_STREAM, QUIZ_ARRANGE_STREAM, QUIZ_FIRST_STREAM };

enum { QUIZ_POOL_MOST = 256 };

/* Choices that may be wrong answers, each once; constants. */
struct quiz_pool {
    const char *items[QUIZ_POOL_MOST];
    uint32_t count;
};
void quiz_pool_add(struct quiz_pool *pool, const char *text);

/* Puts `right` and wrong ones in any order, and `nothing` last. If nothing is right, `right` is
 * NULL, and the first of the pool, the set's own, is among the wrong ones. The pool has
 * QUIZ_CHOICES - 1 or more. */
void quiz_fill(struct quiz_set *set, enum quiz_question question, struct random *random,
               struct quiz_pool *pool, const char *right, const char *nothing);

/* Puts the sets into the order that the seed gives. Among the first n sets, for any n, at most one
 * in QUIZ_AFTER_ONE_IN is after the fix; sets after the fix that find no place are dropped. Each
 * place that may be such a set's is, half the time, so that no place tells what it is.
 * OUT_OF_MEMORY. */
enum status quiz_arrange(struct quiz_sets *sets, uint64_t seed);
