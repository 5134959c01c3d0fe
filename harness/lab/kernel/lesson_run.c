/* Runs the variants of a lesson and compares the counts with those that were predicted. Variants
 * are kernels that run alone, with launches of the lesson. Each is executed
 * twice, which must give the same counts, and all must compute the same values. */
#include "harness/lab/kernel/lesson_run.h"

#include "harness/base/clock.h"
#include "harness/base/rows.h"
#include "harness/base/words/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- One variant --- */

/* Arrays that begin as zeros are the results. */
enum status lesson_output_add(struct lesson_output *output, const struct lesson_kernel *kernel,
                              const void *const *elements)
{
    for (int i = 0; i < kernel->run.argument_count; i++) {
        const struct kernel_argument *argument = &kernel->arguments[i];
        const float *values = elements[i];
        int64_t room = output->count;
        if (argument->pattern != KERNEL_ZERO)
            continue;
        TRY(rows_grow(&output->values, output->count + argument->count, &room));
        for (int64_t e = 0; e < argument->count; e++)
            if (argument->row == 0 || e % argument->row < argument->filled)
                output->values[output->count++] = values[e];
    }
    return STATUS_OK;
}

enum status lesson_measure(struct lesson_counts *counts, struct lesson_output *output,
                           const struct kernel_lesson *lesson, int variant, int arch)
{
    enum status status = STATUS_OK;
    struct lesson_kernel kernel;
    struct kernel_outcome outcome = { .simt = NULL };
    struct kernel_facts facts;
    const void *elements[LESSON_ARGUMENTS];

    *output = (struct lesson_output){ .values = NULL };
    TRY(lesson_kernel_make(&kernel, lesson, variant, arch));
    TRY_OUT(kernel_run(&kernel.run, &outcome));
    if (outcome.finding.kind != SIMT_NONE)
        FAIL_OUT(STATUS_BAD_USAGE, "%s: %s at %s: %s", kernel.kernel,
                 simt_finding_text(outcome.finding.kind), outcome.finding.place,
                 outcome.finding.detail);
    facts = kernel_facts_of(&kernel.run, &outcome, arch, lesson_needs(kernel.kernel, arch));
    /* Registers as the PTX has them would give other residency than was predicted. */
    if (!facts.is_from_ptxas)
        FAIL_OUT(STATUS_BAD_INPUT, "kernels/lessons/registers.txt has no %s", kernel.kernel);
    kernel_counts_read(counts->of, &facts);
    for (int i = 0; i < LESSON_ARGUMENTS; i++) elements[i] = outcome.arrays[i].elements;
    TRY_OUT(lesson_output_add(output, &kernel, elements));

out:
    kernel_outcome_release(&outcome);
    return status;
}

/* --- The verdict --- */

const char *lesson_verdict_name(enum lesson_verdict verdict)
{
    static const char *const names[] = { "as foretold", "not as foretold", "failed" };

    return names[verdict];
}

/* NaN is null in JSON. */
static void forget_counts(struct lesson_result *result)
{
    for (int v = 0; v < LESSON_VARIANTS; v++) {
        for (int i = 0; i < KERNEL_COUNT_COUNT; i++) result->counts[v].of[i] = NAN;
        result->device_ns[v] = NAN;
    }
}

void lesson_fail(struct lesson_result *result, const char *reason)
{
    result->verdict = LESSON_FAILED;
    snprintf(result->reason, sizeof result->reason, "%s", reason);
    forget_counts(result);
}

void lesson_judge(struct lesson_result *result)
{
    int steps[LESSON_VARIANTS], count = lesson_steps(result->lesson, steps);

    result->verdict = LESSON_AS_PREDICTED;
    result->reason[0] = '\0';
    for (int i = 0; i < prediction_count(result->lesson); i++)
        for (int step = 0; step < count; step++) {
            int v = steps[step];
            const struct prediction *prediction = &result->lesson->predicted[i];
            double measured = result->counts[v].of[prediction->count];
            if (prediction_holds(prediction, measured, v, result->arch))
                continue;
            result->verdict = LESSON_NOT_AS_PREDICTED;
            text_join(result->reason, sizeof result->reason, "; ",
                      "%s %s is %.6g, and %.6g was predicted",
                      kernel_counts[prediction->count].name, lesson_variant_name(v), measured,
                      prediction_value(prediction, v, result->arch));
        }
}

/* Before with another variant, bit for bit: they are made so that rounding is the same, or does not
 * occur. */
static void compare_outputs(struct lesson_result *result, const struct lesson_output *outputs,
                            int variant)
{
    const struct lesson_output *before = &outputs[LESSON_BEFORE], *other = &outputs[variant];
    const char *name = lesson_variant_name(variant);
    int64_t i = 0;
    char reason[160];

    while (before->count == other->count && i < before->count &&
           memcmp(&before->values[i], &other->values[i], sizeof(float)) == 0)
        i++;
    if (before->count != other->count)
        snprintf(reason, sizeof reason, "before and %s have results of different sizes", name);
    else if (i < before->count)
        snprintf(reason, sizeof reason,
                 "before and %s do not compute the same: result %lld is %.9g before, %.9g %s", name,
                 (long long)i, (double)before->values[i], (double)other->values[i], name);
    else
        return;
    lesson_fail(result, reason);
}

/* --- The lesson --- */

/* Measures a variant LESSON_REPETITIONS times; *same: the counts were always the same. */
static enum status measure_variant(struct lesson_result *result, struct lesson_output *output,
                                   int variant, bool *same)
{
    struct lesson_counts *counts = &result->counts[variant], again;

    for (int i = 0; i < LESSON_REPETITIONS; i++) {
        int64_t begin_ns = clock_ns();
        free(output->values);
        TRY(lesson_measure(&again, output, result->lesson, variant, result->arch));
        for (int c = KERNEL_COUNT_FIRST; c < KERNEL_COUNT_COUNT && i > 0; c++)
            if (!(counts->of[c] == again.of[c] || (isnan(counts->of[c]) && isnan(again.of[c]))))
                *same = false;
        *counts = again;
        result->host_us[variant][i] = (double)(clock_ns() - begin_ns) * 1e-3;
    }
    return STATUS_OK;
}

enum status lesson_run(struct lesson_result *result, const struct kernel_lesson *lesson, int arch)
{
    struct lesson_output outputs[LESSON_VARIANTS] = { { NULL, 0 } };
    enum status status = STATUS_OK;
    int64_t begin_ns = clock_ns();
    int steps[LESSON_VARIANTS], count = lesson_steps(lesson, steps);
    bool same = true;

    *result = (struct lesson_result){ .lesson = lesson, .arch = arch };
    forget_counts(result);
    for (int step = 0; step < count && status == STATUS_OK; step++)
        status = measure_variant(result, &outputs[steps[step]], steps[step], &same);
    if (status == STATUS_OK) {
        lesson_judge(result);
        for (int step = 1; step < count; step++) compare_outputs(result, outputs, steps[step]);
        if (!same)
            lesson_fail(result, "the counts of two executions of one kernel differ");
    } else if (status != STATUS_OUT_OF_MEMORY) {
        lesson_fail(result, status_last()->text);
        status = STATUS_OK;
    }
    for (int v = 0; v < LESSON_VARIANTS; v++) free(outputs[v].values);
    result->seconds = (double)(clock_ns() - begin_ns) * 1e-9;
    return status;
}
