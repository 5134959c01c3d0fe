/* Times a lesson's kernels on a GPU. Only a test has called it so far, over a stand-in for CUDA. */
#ifndef HARNESS_LAB_LESSONS_LESSON_TIME_H
#define HARNESS_LAB_LESSONS_LESSON_TIME_H

#include "harness/device/device.h"
#include "harness/lab/lessons/lesson_result.h"

/* Adds the times to a result that has not failed: of each variant the median of LESSON_ROUNDS
 * rounds, in which the variants take turns; a round is as many launches as take a millisecond,
 * between two events. It fails the result if the GPU computes other values than the machine that
 * executes PTX. An error, such as a driver that is too old, leaves the times unknown and the
 * verdict as it is: result->reason says which. */
void lesson_time(struct lesson_result *result, struct device *device);

#endif
