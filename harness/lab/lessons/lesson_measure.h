/* One variant of a kernel lesson, executed by the machine of harness/simt: its counts and its
 * results. */
#ifndef HARNESS_LAB_LESSONS_LESSON_MEASURE_H
#define HARNESS_LAB_LESSONS_LESSON_MEASURE_H

#include "harness/base/status.h"
#include "harness/lab/lessons/lesson_result.h"

#include <stdint.h>

/* The values that a variant wrote to its result arrays, without what lies between rows, in the
 * order of its arguments. */
struct lesson_output {
    float *values;
    int64_t count;
};

/* Adds the values of each result array; elements[i] is the array of argument i as the kernel left
 * it. */
enum status lesson_output_take(struct lesson_output *output, const void *const *elements,
                               const struct lesson_launch *launch, int arch);

/* BAD_USAGE: the machine found something wrong in the kernel; BAD_INPUT: there is no such kernel.
 * free() releases the values, whatever the status is. */
enum status lesson_measure(struct lesson_counts *counts, struct lesson_output *output,
                           const struct kernel_lesson *lesson, int variant, int arch);

#endif
