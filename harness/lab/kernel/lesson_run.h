/* A kernel lesson is run: each variant is executed by the machine of harness/simt and counted, the
 * results are compared, and the counts held against the predicted ones. */
#pragma once

#include "harness/lab/kernel/lesson.h"

enum { LESSON_REPETITIONS = 2 }; /* of each variant */

enum lesson_verdict { LESSON_AS_PREDICTED, LESSON_NOT_AS_PREDICTED, LESSON_FAILED };
const char *lesson_verdict_name(enum lesson_verdict verdict); /* as JSON has it */

struct lesson_counts {
    double of[KERNEL_COUNT_COUNT]; /* NaN: the kernel has none, such as sectors without a load */
};

struct lesson_result {
    const struct kernel_lesson *lesson;
    int arch; /* a place in `architectures` */
    enum lesson_verdict verdict;
    char reason[512]; /* why, unless as predicted; or why it was not timed */
    struct lesson_counts counts[LESSON_VARIANTS];        /* NaN, all of them, if it failed, and of a
                                                            variant that it has not */
    double host_us[LESSON_VARIANTS][LESSON_REPETITIONS]; /* to execute each: no GPU's time */
    double device_ns[LESSON_VARIANTS]; /* of a launch on a GPU, median; NaN: not timed */
    double seconds;                    /* of all */
};

/* A kernel that does something wrong, and results that differ, are a verdict: LESSON_FAILED, with
 * the reason. OUT_OF_MEMORY. */
enum status lesson_run(struct lesson_result *result, const struct kernel_lesson *lesson, int arch);

/* The verdict and its reason, from the counts; and one for which all counts and times are
 * unknown. */
void lesson_judge(struct lesson_result *result);
void lesson_fail(struct lesson_result *result, const char *reason);

/* Times a lesson's kernels on a GPU, unless it has failed: the median of some rounds, in which the
 * variants take turns; a round is as many launches as take a millisecond, between two events. It
 * fails the result if the GPU computes other values than the machine that executes PTX. An error,
 * such as a driver that is too old, leaves the times unknown and the verdict as it is:
 * result->reason says which. */
struct device;
void lesson_time(struct lesson_result *result, struct device *device);

/* --- One variant --- */

/* The values that a variant wrote to its result arrays, without what lies between rows, in the
 * order of its arguments. */
struct lesson_output {
    float *values;
    int64_t count;
};

/* Adds the values of each result array; elements[i] is the array of argument i as the kernel left
 * it. */
enum status lesson_output_add(struct lesson_output *output, const struct lesson_kernel *kernel,
                              const void *const *elements);

/* BAD_USAGE: the machine found something wrong in the kernel; BAD_INPUT: there is no such kernel.
 * free() releases the values, whatever the status is. */
enum status lesson_measure(struct lesson_counts *counts, struct lesson_output *output,
                           const struct kernel_lesson *lesson, int variant, int arch);
