/* The pairs of kernels of a run: executed in this process, after the scenarios. */
#pragma once

#include "harness/cli/job/choose.h"
#include "harness/device/device.h"
#include "harness/lab/kernel/lesson_run.h"
#include "harness/lab/result/result_file.h"

struct run_lessons {
    int arch; /* 1 more than a place in `architectures`; 0: not given */
    struct lesson_result *results;
    int count;
};

/* The words of --arch, in the order of `architectures`. */
#define RUN_LESSONS_ARCHES "80|90|100"

/* BAD_USAGE for options that ask for times or ranks of what has neither. With --aa, `all` leaves
 * the kernels out. */
enum status run_lessons_check(struct choice *choice, const struct flags *flags);

/* Adds each result to the file, with times if the device is a GPU. Ends early, with OK, when the
 * run is to stop. */
enum status run_lessons_measure(struct run_lessons *lessons, const struct choice *choice,
                                const struct device_properties *device, struct result_file *file);
bool run_lessons_are_well(const struct run_lessons *lessons);
void run_lessons_release(struct run_lessons *lessons);
