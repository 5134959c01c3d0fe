#include "harness/lab/lessons/lesson_run.h"

#include "harness/base/clock.h"
#include "harness/lab/lessons/lesson_measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Before with another variant, bit for bit: they are made so that rounding is the same, or does not
 * occur. */
static void compare(struct lesson_result *result, const struct lesson_output *outputs, int variant)
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

/* The machine gives the same counts each time, or something is wrong. */
static bool is_again(const struct lesson_counts *first, const struct lesson_counts *again)
{
    for (int i = KERNEL_COUNT_FIRST; i < KERNEL_COUNT_COUNT; i++)
        if (!(first->of[i] == again->of[i] || (isnan(first->of[i]) && isnan(again->of[i]))))
            return false;
    return true;
}

/* Measures a variant LESSON_REPETITIONS times; *again: the counts were always the same. */
static enum status measure(struct lesson_result *result, struct lesson_output *output, int variant,
                           bool *again)
{
    struct lesson_counts counts;

    for (int i = 0; i < LESSON_REPETITIONS; i++) {
        int64_t begin_ns = clock_ns();
        free(output->values);
        TRY(lesson_measure(&counts, output, result->lesson, variant, result->arch));
        *again = *again && (i == 0 || is_again(&result->counts[variant], &counts));
        result->counts[variant] = counts;
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
    bool again = true;

    *result = (struct lesson_result){ .lesson = lesson, .arch = arch };
    lesson_forget(result);
    for (int step = 0; step < count && status == STATUS_OK; step++)
        status = measure(result, &outputs[steps[step]], steps[step], &again);
    if (status == STATUS_OK) {
        lesson_judge(result);
        for (int step = 1; step < count; step++) compare(result, outputs, steps[step]);
        if (!again)
            lesson_fail(result, "the counts of two executions of one kernel differ");
    } else if (status != STATUS_OUT_OF_MEMORY) {
        lesson_fail(result, status_last()->text);
        status = STATUS_OK;
    }
    for (int v = 0; v < LESSON_VARIANTS; v++) free(outputs[v].values);
    result->seconds = (double)(clock_ns() - begin_ns) * 1e-9;
    return status;
}
