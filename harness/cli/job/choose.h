/* Scenarios by name, as given on the command line. */
#pragma once

#include "harness/cli/job/job_flags.h"
#include "scenarios/scenario.h"

/* The one scenario that `command` takes. BAD_USAGE names one that is near, or all. */
enum status choose_only(const struct scenario **scenario, const struct flags *flags,
                        const char *command);

enum { CHOICE_MAX = 64, CHOICE_LESSONS_MAX = 32 };

/* Scenarios and pairs of kernels to run, in the order of their lists, each once. */
struct choice {
    bool chosen[CHOICE_MAX];
    bool lessons[CHOICE_LESSONS_MAX]; /* of kernel_lessons[] */
};

bool choice_is_several(const char *name); /* "core", "all" or a group */

/* Adds a scenario, a pair of kernels, a group of them, "core" or "all". BAD_USAGE as above. */
enum status choice_add(struct choice *choice, const char *name);
int choice_count(const struct choice *choice); /* of scenarios */
int choice_lessons(const struct choice *choice);
