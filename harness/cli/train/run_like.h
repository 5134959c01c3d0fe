/* run --like RESULT: does the work of an earlier run again, so that `compare` compares the two. It
 * takes over what that run was given (seed, images, device memory, --quick) and what it chose: the
 * size of the images that brought host and device work into balance, and the length of windows. */
#pragma once

#include "harness/cli/job/choose.h"
#include "harness/desk/compare/file/benchmark_file.h"

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
