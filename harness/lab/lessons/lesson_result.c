#include "harness/lab/lessons/lesson_result.h"

#include "harness/base/words/text.h"

#include <math.h>
#include <stdio.h>

/* Tolerance of exact counts, which are sums and ratios of whole numbers. */
#define EXACT_WITHIN 1e-9

const char *lesson_verdict_name(enum lesson_verdict verdict)
{
    static const char *const names[] = { "as foretold", "not as foretold", "failed" };

    return names[verdict];
}

double foretold_value(const struct foretold *foretold, int variant, int arch)
{
    const double *const values[] = { foretold->before, foretold->after, foretold->between };

    return values[variant][arch];
}

bool foretold_holds(const struct foretold *foretold, double measured, int variant, int arch)
{
    double value = foretold_value(foretold, variant, arch);
    double within = foretold->within > 0 ? foretold->within : EXACT_WITHIN;

    return fabs(measured - value) <= within * fabs(value);
}

int foretold_count(const struct kernel_lesson *lesson)
{
    int count = 0;

    while (count < LESSON_FORETOLD && lesson->foretold[count].count != KERNEL_COUNT_NONE) count++;
    return count;
}

void lesson_forget(struct lesson_result *result)
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
    lesson_forget(result);
}

void lesson_judge(struct lesson_result *result)
{
    int steps[LESSON_VARIANTS], count = lesson_steps(result->lesson, steps);

    result->verdict = LESSON_AS_FORETOLD;
    result->reason[0] = '\0';
    for (int i = 0; i < foretold_count(result->lesson); i++)
        for (int step = 0; step < count; step++) {
            int v = steps[step];
            const struct foretold *foretold = &result->lesson->foretold[i];
            double measured = result->counts[v].of[foretold->count];
            if (foretold_holds(foretold, measured, v, result->arch))
                continue;
            result->verdict = LESSON_NOT_AS_FORETOLD;
            text_join(result->reason, sizeof result->reason, "; ",
                      "%s %s is %.6g, and %.6g was foretold", kernel_counts[foretold->count].name,
                      lesson_variant_name(v), measured, foretold_value(foretold, v, result->arch));
        }
}
