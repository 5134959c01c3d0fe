/* The pairs of kernels of a run: executed in this process, after the scenarios. */
#pragma once

#include "harness/cli/job/choose.h"
#include "harness/desk/compare/file/benchmark_file.h"
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

/* run --like RESULT: does the work of an earlier run again, so that `compare` compares the two. It
 * takes over what that run was given (seed, images, device memory, --quick) and what it chose: the
 * size of the images that brought host and device work into balance, and the length of windows. */
struct like {
    struct benchmark_file result;
    int jpeg_pixels[CHOICE_MAX];       /* by scenario; 0: it was not chosen by a balance */
    double window_seconds[CHOICE_MAX]; /* 0: not known */
};

/* Reads the result file `path`, or that in a folder. If no scenario is chosen, those that it
 * measured are. Fills in the flags. BAD_INPUT where it is no result of run, did not measure a
 * chosen scenario, or states settings that are unknown here; BAD_USAGE where a flag contradicts
 * it. */
enum status like_read(struct like *like, const char *path, struct flags *flags,
                      struct choice *choice);

/* BAD_INPUT where the result is of another kind of device. */
enum status like_check_device(const struct like *like, const struct device_properties *device);

void like_release(struct like *like); /* all zero is allowed */
