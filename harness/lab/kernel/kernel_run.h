/* Runs one kernel alone, on the machine that executes PTX (harness/simt/simt.h): with arrays of its
 * own, and everything that was counted. It takes no GPU, and it has no times.
 *
 *     struct kernel_run run = { .ptx = text, .ptx_bytes = strlen(text), .name = "sum.ptx",
 *                               .blocks = { 64, 1, 1 }, .threads = { 256, 1, 1 },
 *                               .arguments = arguments, .argument_count = 3 };
 *     struct kernel_outcome outcome;
 *     TRY_OUT(kernel_run(&run, &outcome));
 *     ... outcome.counts.global[SIMT_LOADS].touched ...
 * out:
 *     kernel_outcome_release(&outcome); */
#pragma once

#include "harness/lab/kernel/input/kernel_arguments.h"
#include "harness/simt/simt.h"

/* A run that goes beyond these ends: some ten seconds, and the memory of a laptop. */
#define KERNEL_RUN_MOST_INSTRUCTIONS UINT64_C(200000000) /* of warps */
#define KERNEL_RUN_MOST_BYTES        (UINT64_C(1) << 28) /* of all arrays */
#define KERNEL_RUN_MOST_BLOCKS       (UINT64_C(1) << 20) /* of the grid */

struct kernel_run {
    const char *ptx;
    size_t ptx_bytes;
    const char *name;   /* of the PTX, for messages */
    const char *kernel; /* as the PTX or the source has it; NULL: the only one */
    unsigned blocks[3], threads[3];
    size_t shared_bytes; /* dynamic */
    const struct kernel_argument *arguments;
    int argument_count;
    bool all;                   /* the run goes on after a finding, and keeps all */
    FILE *output;               /* of printf(); NULL: nowhere */
    uint64_t most_instructions; /* 0: KERNEL_RUN_MOST_INSTRUCTIONS */
};

uint64_t kernel_run_blocks(const struct kernel_run *run); /* of the grid */

struct kernel_array {
    void *elements; /* as the kernel left them; NULL: the argument is a scalar */
    struct simt_footprint footprint;
};

struct kernel_outcome {
    struct simt *simt;
    struct simt_kernel *kernel;
    const char *kernel_name;
    struct simt_finding finding; /* kind NONE: the kernel ran to its end */
    struct simt_findings all;    /* of a run that asks for all: that one too */
    struct simt_shape shape;
    struct simt_counts counts;
    struct simt_mix mix;
    struct simt_line *lines;
    int line_count;
    struct simt_sample *samples; /* their addresses are those of the arrays, in the host's memory */
    int sample_count;
    struct kernel_array arrays[KERNEL_ARGUMENTS_MOST]; /* by argument */
    int array_count;                                   /* of arguments */
};

/* OK even if the machine found something wrong in the kernel: outcome->finding. BAD_INPUT: the PTX
 * has something that the machine does not know, with its line. BAD_USAGE: no such kernel, arguments
 * that are not its own, or too much memory. Release the outcome whatever the status is. */
enum status kernel_run(const struct kernel_run *run, struct kernel_outcome *outcome);
void kernel_outcome_release(struct kernel_outcome *outcome);
