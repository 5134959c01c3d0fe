/* Scenarios by name, as given on the command line. */
#pragma once

#include "harness/base/words/nearest.h"
#include "harness/cli/job/job_flags.h"
#include "harness/desk/diagnosis/rules/rules.h"
#include "scenarios/gpu_kernels/kernel_lessons.h"
#include "scenarios/scenario.h"

/* The rows that a word names, or, if none is named so, those that are also called so, one of each
 * kind; "pin_memory=True" is pin_memory, "torch.nn.DataParallel" DataParallel. NULL: none. */
struct called {
    const struct scenario *scenario;
    const struct kernel_lesson *lesson;
    const struct rule *rule;
};
struct called choose_called(const char *word);

/* Follows "there is no scenario NAME": the rows whose lessons have that word, a name that is near,
 * a word that rows are also called, or where names are listed. */
void choose_advice(char text[NEAREST_ADVICE], const char *name, bool with_findings);

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
