/* The result of a kernel lesson: what was counted in each variant, beside what was foretold, and
 * times if a GPU ran it. */
#ifndef HARNESS_LAB_LESSONS_LESSON_RESULT_H
#define HARNESS_LAB_LESSONS_LESSON_RESULT_H

#include "scenarios/gpu_kernels/kernel_lesson.h"

#include <stdbool.h>

enum { LESSON_REPETITIONS = 2 }; /* of each variant */

enum lesson_verdict { LESSON_AS_FORETOLD, LESSON_NOT_AS_FORETOLD, LESSON_FAILED };
const char *lesson_verdict_name(enum lesson_verdict verdict); /* "as foretold" ... */

struct lesson_counts {
    double of[KERNEL_COUNT_COUNT]; /* NaN: the kernel has none, such as sectors without a load */
};

struct lesson_result {
    const struct kernel_lesson *lesson;
    int arch; /* a place in lesson_arches */
    enum lesson_verdict verdict;
    char reason[512]; /* why, unless as foretold; or why it was not timed */
    struct lesson_counts counts[LESSON_VARIANTS];        /* NaN, all of them, if it failed, and of a
                                                            variant that it has not */
    double host_us[LESSON_VARIANTS][LESSON_REPETITIONS]; /* to execute each: no GPU's time */
    double device_ns[LESSON_VARIANTS]; /* of a launch on a GPU, median; NaN: not timed */
    double seconds;                    /* of all */
};

/* The value that is foretold of a count in a variant. */
double foretold_value(const struct foretold *foretold, int variant, int arch);

/* Whether a count is what was foretold; a count that is NaN is not. */
bool foretold_holds(const struct foretold *foretold, double measured, int variant, int arch);

/* How many counts the lesson foretells. */
int foretold_count(const struct kernel_lesson *lesson);

/* Makes all counts and times unknown; and the verdict LESSON_FAILED. */
void lesson_forget(struct lesson_result *result);
void lesson_fail(struct lesson_result *result, const char *reason);

/* The verdict and its reason, from the counts. */
void lesson_judge(struct lesson_result *result);

#endif
