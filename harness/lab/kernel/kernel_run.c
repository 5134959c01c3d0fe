/* A machine is opened for each run. Arrays are memory of the host, which the machine is told of, so
 * that it knows the bounds of each and what has been written. */
#include "harness/lab/kernel/kernel_run.h"

#include "harness/base/rows.h"
#include "harness/lab/kernel/input/kernel_arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernel that is asked for, or the only one; otherwise the sentence has as many names as it can
 * hold. */
static enum status find_kernel(const struct kernel_run *run, struct kernel_outcome *outcome)
{
    int count = 0;
    struct simt_kernel *kernels[64];
    char names[256] = "";
    bool several = false;

    simt_kernels(outcome->simt, kernels, (int)ARRAY_SIZE(kernels), &count);
    if (run->kernel != NULL || count == 1)
        outcome->kernel = run->kernel != NULL ? simt_find(outcome->simt, run->kernel) : kernels[0];
    for (int i = 0; i < count && i < (int)ARRAY_SIZE(kernels); i++) {
        const char *name = simt_kernel_name(kernels[i]);
        several |= run->kernel != NULL && strstr(name, run->kernel) != NULL;
        if (strlen(names) + strlen(name) + 4 < sizeof names) {
            strcat(names, i > 0 ? ", " : "");
            strcat(names, name);
        }
    }
    if (outcome->kernel == NULL)
        FAIL(STATUS_BAD_USAGE, "%s has %s%s; it has %s", run->name,
             run->kernel != NULL ? several ? "more kernels than one called " : "no kernel "
                                 : "more kernels than one",
             run->kernel != NULL ? run->kernel : "", count > 0 ? names : "none");
    outcome->kernel_name = simt_kernel_name(outcome->kernel);
    return STATUS_OK;
}

/* The bytes of the parameter that argument *next begins, whose members lie as in C; *next is then
 * the one after them. Puts the values there, if there is a place for them. */
static size_t next_parameter(const struct kernel_run *run, int *next,
                             const struct kernel_outcome *outcome, unsigned char *to)
{
    size_t bytes = 0, most = 1;

    do {
        const struct kernel_argument *argument = &run->arguments[*next];
        size_t own = kernel_argument_own(argument);
        uint64_t value;
        bytes = (bytes + own - 1) / own * own;
        if (to != NULL && argument->count > 0)
            value = (uint64_t)(uintptr_t)outcome->arrays[*next].elements;
        else
            kernel_scalar(argument, &value);
        if (to != NULL)
            memcpy(to + bytes, &value, own);
        bytes += own;
        most = own > most ? own : most;
        ++*next;
    } while (*next < run->argument_count && run->arguments[*next].joins);
    return (bytes + most - 1) / most * most;
}

uint64_t kernel_run_blocks(const struct kernel_run *run)
{
    return (uint64_t)run->blocks[0] * run->blocks[1] * run->blocks[2];
}

/* The size of each parameter, before a launch would say it less well. */
static enum status check_launch(const struct kernel_run *run, const struct kernel_outcome *outcome)
{
    const struct simt_shape *shape = &outcome->shape;
    uint64_t bytes = 0;
    char wants[384];
    int parameters = 0;

    /* Two dimensions first: the product of three could overflow. */
    if ((uint64_t)run->blocks[0] * run->blocks[1] > KERNEL_RUN_MOST_BLOCKS ||
        kernel_run_blocks(run) > KERNEL_RUN_MOST_BLOCKS)
        FAIL(STATUS_BAD_USAGE, "the grid has more than %llu blocks, which is the limit",
             (unsigned long long)KERNEL_RUN_MOST_BLOCKS);
    for (int i = 0; i < run->argument_count; i++) {
        parameters += !run->arguments[i].joins;
        bytes += kernel_argument_bytes(&run->arguments[i]);
        if (bytes > KERNEL_RUN_MOST_BYTES)
            FAIL(STATUS_BAD_USAGE, "the arrays have more than %llu MiB, which is the limit",
                 (unsigned long long)(KERNEL_RUN_MOST_BYTES >> 20));
    }
    kernel_wants(wants, sizeof wants, outcome->kernel_name, shape);
    if (parameters != shape->parameters)
        FAIL(STATUS_BAD_USAGE, "%s takes %d arguments, not %d%s%s", outcome->kernel_name,
             shape->parameters, parameters, shape->parameters > 0 ? ": " : "", wants);
    for (int i = 0, p = 0; i < run->argument_count; p++) {
        const struct kernel_argument *argument = &run->arguments[i];
        int next = i, own;
        own = (int)next_parameter(run, &next, NULL, NULL);
        if (own != shape->parameter_size[p])
            FAIL(STATUS_BAD_USAGE, "argument %d of %s has %d bytes, and %s has %d: it takes %s",
                 p + 1, outcome->kernel_name, shape->parameter_size[p],
                 next > i + 1          ? "a struct of these members"
                 : argument->count > 0 ? "the address of an array"
                                       : kernel_type_name(argument->type),
                 own, wants);
        i = next;
    }
    return STATUS_OK;
}

/* Aligned as cudaMalloc() aligns. */
static enum status add_array(struct simt *simt, const struct kernel_argument *argument,
                             void **elements)
{
    size_t bytes = (size_t)kernel_argument_bytes(argument); /* check_launch() bounds it */
    const char *type = kernel_type_name(argument->type);
    char signed_type[8];
    struct simt_texture texture = { .channels = argument->channels,
                                    .linear = argument->linear,
                                    .normalized = argument->normalized,
                                    .wraps = argument->wraps };

    snprintf(signed_type, sizeof signed_type, "s%s", type + 1);
    if (posix_memalign(elements, 256, bytes) != 0) {
        *elements = NULL;
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for an array of %zu bytes", bytes);
    }
    kernel_argument_fill(argument, *elements);
    TRY(simt_memory_add(simt, *elements, bytes));
    if (argument->pattern != KERNEL_UNWRITTEN)
        simt_memory_written(simt, *elements, bytes);
    if (argument->size[0] == 0) /* of a lesson */
        return STATUS_OK;
    texture.memory = *elements;
    memcpy(texture.size, argument->size, sizeof texture.size);
    return simt_texture_add(simt, &texture, type[0] == 'i' ? signed_type : type);
}

/* A finding is no error of the run: the machine's status says the same, less well. */
static enum status launch_kernel(const struct kernel_run *run, struct kernel_outcome *outcome)
{
    enum status status = STATUS_OK;
    unsigned char *bytes = NULL;
    const void *arguments[KERNEL_ARGUMENTS_MOST];
    size_t sizes[KERNEL_ARGUMENTS_MOST], at = 0;
    struct simt_grid grid = { .shared_bytes = run->shared_bytes,
                              .counts_fresh = true,
                              .all = run->all ? &outcome->all : NULL,
                              .most_instructions = run->most_instructions != 0
                                                       ? run->most_instructions
                                                       : KERNEL_RUN_MOST_INSTRUCTIONS };
    int count = 0;

    memcpy(grid.blocks, run->blocks, sizeof grid.blocks);
    memcpy(grid.threads, run->threads, sizeof grid.threads);
    TRY_OUT(rows_make(&bytes, 16 * run->argument_count + 16));
    for (int i = 0; i < run->argument_count; count++) {
        arguments[count] = bytes + at;
        sizes[count] = next_parameter(run, &i, outcome, bytes + at);
        at += sizes[count];
    }
    status = simt_launch(outcome->simt, outcome->kernel, &grid, arguments, sizes, count,
                         &outcome->finding);
    if (outcome->finding.kind != SIMT_NONE)
        status = STATUS_OK;

out:
    free(bytes);
    return status;
}

enum status kernel_run(const struct kernel_run *run, struct kernel_outcome *outcome)
{
    *outcome = (struct kernel_outcome){ 0 };
    TRY(simt_open(&outcome->simt));
    simt_print_to(outcome->simt, run->output);
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
    outcome->mix = simt_mix_of(outcome->simt, outcome->kernel);
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
