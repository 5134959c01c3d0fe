/* A call of `kernel` without its files: the texts of its options become a launch, and the launch's
 * outcome JSON or a page. The browser's page calls the same (web_kernel.c).
 *
 *     struct kernel_call call = { .file = "bank_conflicts_before", .arch = ARCH_90 };
 *     TRY_OUT(kernel_call_prepare(&call));
 *     TRY_OUT(kernel_run(&call.run, &call.outcome));
 *     output = kernel_call_output(&call, kernel_call_needs(&call), findings);
 * out:
 *     kernel_call_release(&call); */
#pragma once

#include "harness/lab/kernel/kernel_output.h"

struct kernel_call {
    const char *file; /* a kernel of a lesson, or what messages call the PTX */
    const char *kernel, *grid, *block, *arguments; /* as options have them; NULL: not given */
    int64_t shared_bytes;
    int arch, registers, elements; /* arch: a place in `architectures`; registers 0: not given */

    const struct kernel_lesson *lesson; /* NULL: `run` lacks the PTX of a file */
    struct lesson_kernel of_lesson;
    struct kernel_argument values[KERNEL_ARGUMENTS_MOST];
    struct kernel_run run; /* points to other members: do not copy the struct */
    struct kernel_outcome outcome;
};

/* Fills `run`. A kernel of a lesson has the lesson's launch, but for what is given. BAD_USAGE: an
 * option has no such form. */
enum status kernel_call_prepare(struct kernel_call *call);

/* Those that are given, or else those that ptxas said of a lesson; registers 0: not known. */
struct kernel_needs kernel_call_needs(const struct kernel_call *call);

/* The outcome as it is shown. The source is that of a lesson; put it there for a file. */
struct kernel_output kernel_call_output(const struct kernel_call *call, struct kernel_needs needs,
                                        struct kernel_finding findings[KERNEL_FINDINGS_MOST]);

/* Executes what was prepared: what `kernel --format=json` prints, *text, is malloc'd. `source` and
 * its path: the text that lines of a file's PTX are of; NULL: none is at hand. */
enum status kernel_call_json(char **text, struct kernel_call *call, const char *source,
                             const char *source_path);

void kernel_call_release(struct kernel_call *call);

/* The output of `kernel NAME --arch=N --format=json` for a kernel of a lesson; *text is malloc'd.
 * BAD_USAGE: there is no such kernel or architecture. */
enum status kernel_of_lesson_json(char **text, const char *name, int arch);
