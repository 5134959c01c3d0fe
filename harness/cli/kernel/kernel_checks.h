/* Checks of a run that a call of `kernel` asks for: arrays to write, a reference, counts that must
 * not grow. */
#pragma once

#include "harness/lab/kernel/kernel_run.h"

struct kernel_checks {
    const char *save, *reference, *baseline; /* NULL: not asked for */
    double relative, absolute;
};

/* `json` is the run's, as kernel_json() makes it. A check that fails is printed to standard error,
 * and *exit_code is 1 then. BAD_USAGE, BAD_INPUT: what is asked for cannot be done. */
enum status kernel_check(const struct kernel_checks *checks, const struct kernel_run *run,
                         const struct kernel_outcome *outcome, const char *json, int *exit_code);
