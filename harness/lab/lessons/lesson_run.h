/* Runs a kernel lesson: its variants are executed and counted, their results compared, and the
 * counts held against what was foretold. No GPU takes part. */
#ifndef HARNESS_LAB_LESSONS_LESSON_RUN_H
#define HARNESS_LAB_LESSONS_LESSON_RUN_H

#include "harness/base/status.h"
#include "harness/lab/lessons/lesson_result.h"

/* `arch` is a place in lesson_arches. A kernel that does something wrong, and results that differ,
 * are a verdict: LESSON_FAILED, with the reason. OUT_OF_MEMORY. */
enum status lesson_run(struct lesson_result *result, const struct kernel_lesson *lesson, int arch);

#endif
