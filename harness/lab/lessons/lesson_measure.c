#include "harness/lab/lessons/lesson_measure.h"

#include "harness/base/rows.h"
#include "harness/lab/kernel_run/residency.h"
#include "harness/lab/lessons/lesson_launch.h"

#include <math.h>
#include <string.h>

/* --- What came of it --- */

enum status lesson_output_take(struct lesson_output *output, const void *const *elements,
                               const struct lesson_launch *launch, int arch)
{
    for (int i = 0; i < LESSON_ARGUMENTS; i++) {
        const struct lesson_argument *argument = &launch->arguments[i];
        const float *values = elements[i];
        int64_t rows = lesson_rows(argument, launch, arch), pitch = lesson_pitch(argument),
                room = 0;
        if (argument->kind != LESSON_RESULT)
            continue;
        room = output->count;
        TRY(rows_grow(&output->values, output->count + rows * argument->columns, &room));
        for (int64_t row = 0; row < rows; row++) {
            memcpy(output->values + output->count, values + row * pitch,
                   (size_t)argument->columns * sizeof *values);
            output->count += argument->columns;
        }
    }

    return STATUS_OK;
}

static double ratio(uint64_t a, uint64_t b)
{
    return b > 0 ? (double)a / (double)b : NAN;
}

static void count_accesses(double *of, const struct simt_counts *counts)
{
    const struct simt_accesses *loads = &counts->global[SIMT_LOADS],
                               *stores = &counts->global[SIMT_STORES];
    struct simt_accesses shared = simt_accesses_sum(counts->shared),
                         local = simt_accesses_sum(counts->local);

    of[KERNEL_COUNT_SECTORS_PER_LOAD] = ratio(loads->touched, loads->requests);
    of[KERNEL_COUNT_SECTORS_PER_STORE] = ratio(stores->touched, stores->requests);
    of[KERNEL_COUNT_GLOBAL_LOADS] = (double)loads->requests;
    of[KERNEL_COUNT_GLOBAL_STORES] = (double)stores->requests;
    of[KERNEL_COUNT_LOAD_SECTORS] = (double)loads->touched;
    of[KERNEL_COUNT_BYTES_IN_FLIGHT] = ratio(loads->bytes, counts->waits);
    of[KERNEL_COUNT_SHARED_LOADS] = (double)counts->shared[SIMT_LOADS].requests;
    of[KERNEL_COUNT_SHARED_PASSES] = (double)shared.touched;
    of[KERNEL_COUNT_BANK_CONFLICTS] = (double)(shared.touched - shared.wanted);
    of[KERNEL_COUNT_ATOMIC_REQUESTS] = (double)counts->global[SIMT_ATOMICS].requests;
    of[KERNEL_COUNT_LOCAL_BYTES] = (double)local.bytes;
}

static void count_lanes(double *of, const struct simt_counts *counts)
{
    of[KERNEL_COUNT_LANES_PER_INSTRUCTION] = ratio(counts->lanes, counts->instructions);
    of[KERNEL_COUNT_DIVERGED_BRANCHES] = (double)counts->diverged;
    of[KERNEL_COUNT_LONE_INSTRUCTIONS] = (double)counts->alone;
    of[KERNEL_COUNT_NEEDLESS_BARRIERS] = (double)(counts->passed - counts->needed);
}

static void count_atomics(double *of, const struct kernel_outcome *outcome)
{
    of[KERNEL_COUNT_ATOMICS_ON_A_WORD] = 0;
    for (int i = 0; i < outcome->array_count; i++)
        of[KERNEL_COUNT_ATOMICS_ON_A_WORD] = fmax(of[KERNEL_COUNT_ATOMICS_ON_A_WORD],
                                                  (double)outcome->arrays[i].footprint.atomic_most);
}

/* The warps that a multiprocessor holds follow from the kernel's needs, as ptxas gave them, and the
 * architecture. */
static enum status count_residency(double *of, const struct kernel_run *run,
                                   const struct kernel_outcome *outcome, int arch)
{
    const struct architecture *architecture = architecture_find(lesson_arches[arch]);
    uint64_t blocks = (uint64_t)run->blocks[0] * run->blocks[1];
    int registers = lesson_of_ptxas(run->kernel, arch, LESSON_REGISTERS);
    struct residency residency;

    if (registers < 0)
        FAIL(STATUS_BAD_INPUT, "kernels/lessons/registers.txt has no %s", run->kernel);
    TRY(residency_of(&residency, architecture, blocks, (int)(run->threads[0] * run->threads[1]),
                     registers, outcome->shape.shared_bytes));
    of[KERNEL_COUNT_SPILLED_BYTES] = lesson_of_ptxas(run->kernel, arch, LESSON_SPILLED_BYTES);
    of[KERNEL_COUNT_RESIDENT_WARPS] = residency.warps;
    of[KERNEL_COUNT_WAVES] = (double)blocks / (double)residency.wave;
    of[KERNEL_COUNT_WAVE_USE] = of[KERNEL_COUNT_WAVES] / ceil(of[KERNEL_COUNT_WAVES]);

    return STATUS_OK;
}

static enum status count_all(struct lesson_counts *counts, const struct kernel_run *run,
                             const struct kernel_outcome *outcome, int arch)
{
    count_accesses(counts->of, &outcome->counts);
    count_lanes(counts->of, &outcome->counts);
    count_atomics(counts->of, outcome);
    TRY(count_residency(counts->of, run, outcome, arch));

    return STATUS_OK;
}

enum status lesson_measure(struct lesson_counts *counts, struct lesson_output *output,
                           const struct kernel_lesson *lesson, int variant, int arch)
{
    enum status status = STATUS_OK;
    struct lesson_kernel kernel;
    struct kernel_outcome outcome = { .simt = NULL };
    const void *elements[LESSON_ARGUMENTS];

    for (int i = 0; i < KERNEL_COUNT_COUNT; i++) counts->of[i] = NAN;
    *output = (struct lesson_output){ .values = NULL };
    TRY_OUT(lesson_kernel_make(&kernel, lesson, variant, arch));
    TRY_OUT(kernel_run(&kernel.run, &outcome));
    if (outcome.finding.kind != SIMT_NONE)
        FAIL_OUT(STATUS_BAD_USAGE, "%s: %s at %s: %s", kernel.kernel,
                 simt_finding_text(outcome.finding.kind), outcome.finding.place,
                 outcome.finding.detail);
    TRY_OUT(count_all(counts, &kernel.run, &outcome, arch));
    for (int i = 0; i < LESSON_ARGUMENTS; i++) elements[i] = outcome.arrays[i].elements;
    TRY_OUT(lesson_output_take(output, elements, &lesson->launches[variant], arch));

out:
    lesson_kernel_release(&kernel);
    kernel_outcome_release(&outcome);
    return status;
}
