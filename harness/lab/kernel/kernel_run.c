/* A machine is opened for each run. Arrays are memory of the host, which the machine is told of, so
 * that it knows the bounds of each and what has been written. */
#include "harness/lab/kernel/kernel_run.h"

#include "harness/base/rows.h"

#include <stdlib.h>
#include <string.h>

/* The kernel that is asked for, or the only one; otherwise the sentence has as many names as it can
 * hold. */
static enum status find_kernel(const struct kernel_run *run, struct kernel_outcome *outcome)
{
    int count = 0;
    struct simt_kernel *kernels[64];
    char names[256] = "";

    simt_kernels(outcome->simt, kernels, (int)ARRAY_SIZE(kernels), &count);
    if (run->kernel != NULL || count == 1)
        outcome->kernel = run->kernel != NULL ? simt_find(outcome->simt, run->kernel) : kernels[0];
    for (int i = 0; i < count && i < (int)ARRAY_SIZE(kernels); i++) {
        const char *name = simt_kernel_name(kernels[i]);
        if (strlen(names) + strlen(name) + 4 < sizeof names) {
            strcat(names, i > 0 ? ", " : "");
            strcat(names, name);
        }
    }
    if (outcome->kernel == NULL)
        FAIL(STATUS_BAD_USAGE, "%s has %s%s; it has %s", run->name,
             run->kernel != NULL ? "no kernel " : "more kernels than one",
             run->kernel != NULL ? run->kernel : "", count > 0 ? names : "none");
    outcome->kernel_name = simt_kernel_name(outcome->kernel);
    return STATUS_OK;
}

/* The size of each parameter, before a launch would say it less well. */
static enum status check_launch(const struct kernel_run *run, const struct kernel_outcome *outcome)
{
    const struct simt_shape *shape = &outcome->shape;
    uint64_t bytes = 0;

    /* Two dimensions first: the product of three could overflow. */
    if ((uint64_t)run->blocks[0] * run->blocks[1] > KERNEL_RUN_MOST_BLOCKS ||
        (uint64_t)run->blocks[0] * run->blocks[1] * run->blocks[2] > KERNEL_RUN_MOST_BLOCKS)
        FAIL(STATUS_BAD_USAGE, "the grid has more than %llu blocks, which is the limit",
             (unsigned long long)KERNEL_RUN_MOST_BLOCKS);
    if (run->argument_count != shape->parameters)
        FAIL(STATUS_BAD_USAGE, "%s takes %d arguments, not %d", outcome->kernel_name,
             shape->parameters, run->argument_count);
    for (int i = 0; i < run->argument_count; i++) {
        const struct kernel_argument *argument = &run->arguments[i];
        int own = argument->count > 0 ? 8 : (int)kernel_type_bytes(argument->type);
        if (own != shape->parameter_size[i])
            FAIL(STATUS_BAD_USAGE, "argument %d of %s has %d bytes, and %s has %d", i + 1,
                 outcome->kernel_name, shape->parameter_size[i],
                 argument->count > 0 ? "the address of an array" : kernel_type_name(argument->type),
                 own);
        bytes += kernel_argument_bytes(argument);
        if (bytes > KERNEL_RUN_MOST_BYTES)
            FAIL(STATUS_BAD_USAGE, "the arrays have more than %llu MiB, which is the limit",
                 (unsigned long long)(KERNEL_RUN_MOST_BYTES >> 20));
    }
    return STATUS_OK;
}

/* Aligned as cudaMalloc() aligns. */
static enum status add_array(struct simt *simt, const struct kernel_argument *argument,
                             void **elements)
{
    size_t bytes = kernel_argument_bytes(argument);

    if (posix_memalign(elements, 256, bytes) != 0) {
        *elements = NULL;
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for an array of %zu bytes", bytes);
    }
    kernel_argument_fill(argument, *elements);
    TRY(simt_memory_add(simt, *elements, bytes));
    if (argument->pattern != KERNEL_UNWRITTEN)
        simt_memory_written(simt, *elements, bytes);
    return STATUS_OK;
}

/* A finding is no error of the run: the machine's status says the same, less well. */
static enum status launch_kernel(const struct kernel_run *run, struct kernel_outcome *outcome)
{
    uint64_t bytes[KERNEL_ARGUMENTS_MOST];
    const void *arguments[KERNEL_ARGUMENTS_MOST];
    size_t sizes[KERNEL_ARGUMENTS_MOST];
    struct simt_grid grid = { .shared_bytes = run->shared_bytes,
                              .counts_fresh = true,
                              .most_instructions = run->most_instructions != 0
                                                       ? run->most_instructions
                                                       : KERNEL_RUN_MOST_INSTRUCTIONS };
    enum status status;

    memcpy(grid.blocks, run->blocks, sizeof grid.blocks);
    memcpy(grid.threads, run->threads, sizeof grid.threads);
    for (int i = 0; i < run->argument_count; i++) {
        const struct kernel_argument *argument = &run->arguments[i];
        arguments[i] = &bytes[i];
        sizes[i] = argument->count > 0 ? 8 : kernel_type_bytes(argument->type);
        if (argument->count > 0)
            bytes[i] = (uint64_t)(uintptr_t)outcome->arrays[i].elements;
        else
            kernel_scalar(argument, &bytes[i]);
    }
    status = simt_launch(outcome->simt, outcome->kernel, &grid, arguments, sizes,
                         run->argument_count, &outcome->finding);
    return outcome->finding.kind != SIMT_NONE ? STATUS_OK : status;
}

enum status kernel_run(const struct kernel_run *run, struct kernel_outcome *outcome)
{
    *outcome = (struct kernel_outcome){ 0 };
    TRY(simt_open(&outcome->simt));
    TRY(simt_read_kernel(outcome->simt, run->ptx, run->ptx_bytes, run->name, run->kernel));
    TRY(find_kernel(run, outcome));
    outcome->shape = simt_shape_of(outcome->kernel);
    TRY(check_launch(run, outcome));
    outcome->array_count = run->argument_count;
    for (int i = 0; i < run->argument_count; i++)
        if (run->arguments[i].count > 0)
            TRY(add_array(outcome->simt, &run->arguments[i], &outcome->arrays[i].elements));
    TRY(launch_kernel(run, outcome));
    outcome->counts = simt_counts_of(outcome->simt, outcome->kernel);
    for (int i = 0; i < run->argument_count; i++)
        if (outcome->arrays[i].elements != NULL)
            outcome->arrays[i].footprint =
                simt_footprint_of(outcome->simt, outcome->arrays[i].elements);
    TRY(simt_counts_lines(outcome->simt, outcome->kernel, &outcome->lines, &outcome->line_count));
    return simt_counts_samples(outcome->simt, outcome->kernel, &outcome->samples,
                               &outcome->sample_count);
}

void kernel_outcome_release(struct kernel_outcome *outcome)
{
    simt_close(outcome->simt);
    for (int i = 0; i < outcome->array_count; i++) free(outcome->arrays[i].elements);
    free(outcome->lines);
    free(outcome->samples);
    *outcome = (struct kernel_outcome){ 0 };
}
