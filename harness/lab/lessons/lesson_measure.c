#include "harness/lab/lessons/lesson_measure.h"

#include "harness/base/rows.h"
#include "harness/lab/kernel_run/kernel_run.h"
#include "harness/lab/kernel_run/residency.h"
#include "harness/lab/lessons/lesson_files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 96, PATTERN_STEP = 7, PATTERN_SIZE = 16 };

static const struct embedded_file *find_file(const char *name)
{
    const struct embedded_file *file = lesson_files;

    while (file->name != NULL && strcmp(file->name, name) != 0) file++;
    return file->name != NULL ? file : NULL;
}

/* A row is the kernel's name, then three numbers for each architecture, of which the first are registers. */
int lesson_registers(const char *kernel, int arch)
{
    const struct embedded_file *file = find_file("registers.txt");
    const char *line = file != NULL ? file->text : "";
    size_t length = strlen(kernel);

    while (*line != '\0' && !(strncmp(line, kernel, length) == 0 && line[length] == ' ')) {
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    if (*line == '\0')
        return -1;
    line += length;
    for (int skipped = 0; skipped < 3 * arch; skipped++) {
        line += strspn(line, " ");
        line += strcspn(line, " \n");
    }
    return (int)strtol(line, NULL, 10);
}

/* --- Arguments --- */

static int64_t rows_of(const struct lesson_argument *argument, const struct lesson_launch *launch,
                       int arch)
{
    int64_t blocks = (int64_t)launch->blocks[arch] * (launch->blocks_y > 0 ? launch->blocks_y : 1);

    return argument->rows_per_block > 0 ? argument->rows_per_block * blocks : argument->rows;
}

static int64_t pitch_of(const struct lesson_argument *argument)
{
    return argument->pitch > 0 ? argument->pitch : argument->columns;
}

/* A whole number from 1 to 16 as fp16: its exponent, biased by 15, and the bits below its first. */
static uint16_t half_of(unsigned number)
{
    unsigned exponent = 31 - (unsigned)__builtin_clz(number);

    return (uint16_t)((exponent + 15) << 10 | (number << (10 - exponent) & 1023));
}

/* The elements that an array begins with: small whole numbers, whose sums are exact in any order. */
static enum status make_elements(void **elements, const struct lesson_argument *argument,
                                 int64_t rows)
{
    int64_t pitch = pitch_of(argument);
    bool halves = argument->kind == LESSON_HALVES;
    unsigned char *bytes;

    TRY(rows_make(&bytes, rows * pitch * (halves ? 2 : 4)));
    *elements = bytes;
    for (int64_t row = 0; row < rows && argument->kind != LESSON_RESULT; row++)
        for (int64_t column = 0; column < argument->columns; column++) {
            int64_t i = row * argument->columns + column;
            unsigned number = 1 + (unsigned)(i * PATTERN_STEP % PATTERN_SIZE);
            if (halves)
                ((uint16_t *)*elements)[row * pitch + column] = half_of(number);
            else
                ((float *)*elements)[row * pitch + column] = (float)number;
        }

    return STATUS_OK;
}

/* How many arguments there are. `own` has their elements, which the caller frees. */
static enum status make_arguments(struct kernel_argument *arguments, void **own, int *count,
                                  const struct lesson_launch *launch, int arch)
{
    for (*count = 0; *count < LESSON_ARGUMENTS; ++*count) {
        const struct lesson_argument *given = &launch->arguments[*count];
        struct kernel_argument *argument = &arguments[*count];
        if (given->kind == LESSON_NOTHING)
            break;
        if (given->kind == LESSON_INTEGER) {
            *argument = (struct kernel_argument){ .type = KERNEL_I32, .value = given->value };
            continue;
        }
        TRY(make_elements(&own[*count], given, rows_of(given, launch, arch)));
        *argument = (struct kernel_argument){
            .type = given->kind == LESSON_HALVES ? KERNEL_F16 : KERNEL_F32,
            .count = rows_of(given, launch, arch) * pitch_of(given),
            .own = own[*count],
        };
    }

    return STATUS_OK;
}

/* --- What came of it --- */

static enum status take_output(struct lesson_output *output, const struct kernel_outcome *outcome,
                               const struct lesson_launch *launch, int arch)
{
    for (int i = 0; i < LESSON_ARGUMENTS; i++) {
        const struct lesson_argument *argument = &launch->arguments[i];
        const float *elements = outcome->arrays[i].elements;
        int64_t rows = rows_of(argument, launch, arch), pitch = pitch_of(argument), room = 0;
        if (argument->kind != LESSON_RESULT)
            continue;
        room = output->count;
        TRY(rows_grow(&output->values, output->count + rows * argument->columns, &room));
        for (int64_t row = 0; row < rows; row++) {
            memcpy(output->values + output->count, elements + row * pitch,
                   (size_t)argument->columns * sizeof *elements);
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

/* The warps that a multiprocessor holds follow from the kernel's needs, as ptxas gave them, and the architecture. */
static enum status count_residency(double *of, const struct kernel_run *run,
                                   const struct kernel_outcome *outcome, int arch)
{
    const struct architecture *architecture = architecture_find(lesson_arches[arch]);
    uint64_t blocks = (uint64_t)run->blocks[0] * run->blocks[1];
    int registers = lesson_registers(run->kernel, arch);
    struct residency residency;

    if (registers < 0)
        FAIL(STATUS_BAD_INPUT, "kernels/lessons/registers.txt has no %s", run->kernel);
    TRY(residency_of(&residency, architecture, blocks, (int)(run->threads[0] * run->threads[1]),
                     registers, outcome->shape.shared_bytes));
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
    const struct lesson_launch *launch = &lesson->launches[variant];
    struct kernel_argument arguments[LESSON_ARGUMENTS];
    struct kernel_outcome outcome = { .simt = NULL };
    void *own[LESSON_ARGUMENTS] = { NULL };
    char file_name[NAME_SIZE], kernel[NAME_SIZE];
    const struct embedded_file *file;
    struct kernel_run run = { .name = file_name,
                              .kernel = kernel,
                              .blocks = { launch->blocks[arch], launch->blocks_y, 1 },
                              .threads = { launch->threads, launch->threads_y, 1 },
                              .arguments = arguments };

    for (int i = 0; i < KERNEL_COUNT_COUNT; i++) counts->of[i] = NAN;
    *output = (struct lesson_output){ .values = NULL };
    run.blocks[1] += launch->blocks_y == 0;
    run.threads[1] += launch->threads_y == 0;
    snprintf(file_name, sizeof file_name, "%s.ptx", lesson->name);
    snprintf(kernel, sizeof kernel, "%s_%s", lesson->name, variant == 0 ? "before" : "after");
    file = find_file(file_name);
    if (file == NULL)
        FAIL_OUT(STATUS_BAD_INPUT, "the program has no %s", file_name);
    run.ptx = file->text;
    run.ptx_bytes = file->bytes;
    TRY_OUT(make_arguments(arguments, own, &run.argument_count, launch, arch));
    TRY_OUT(kernel_run(&run, &outcome));
    if (outcome.finding.kind != SIMT_NONE)
        FAIL_OUT(STATUS_BAD_USAGE, "%s: %s at %s: %s", kernel,
                 simt_finding_text(outcome.finding.kind), outcome.finding.place,
                 outcome.finding.detail);
    TRY_OUT(count_all(counts, &run, &outcome, arch));
    TRY_OUT(take_output(output, &outcome, launch, arch));

out:
    for (int i = 0; i < LESSON_ARGUMENTS; i++) free(own[i]);
    kernel_outcome_release(&outcome);
    return status;
}
