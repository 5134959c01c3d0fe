/* Sets of a quiz about kernels: each lesson, before and after. Both are executed for it, and what
 * is wrong with the other lessons' kernels are the wrong choices. */
#include "harness/base/rows.h"
#include "harness/lab/kernel/lesson_run.h"
#include "harness/lab/quiz/quiz_set.h"
#include "scenarios/gpu_kernels/kernel_lessons.h"

#include <math.h>
#include <string.h>

/* As `kernel` executes them unless told otherwise. */
enum { LESSONS_MOST = 32, ARCH = ARCH_90 };

/* Lessons that are true of a kernel of another lesson as well, so that they are no wrong answers
 * there. An empty name: of any other. */
static const struct {
    const char *lesson, *also;
} also_true[] = {
    { "", "scalar_access" },
    { "serial_reduction", "divergent_branches" },
    { "contended_atomics", "divergent_branches" },
    { "tensor_core_shapes", "no_reuse" },
    { "contended_atomics", "serial_reduction" },
};

static bool is_wrong(const struct kernel_lesson *lesson, const struct kernel_lesson *other)
{
    for (size_t i = 0; i < ARRAY_SIZE(also_true); i++)
        if (strcmp(also_true[i].also, other->name) == 0 &&
            (also_true[i].lesson[0] == '\0' || strcmp(also_true[i].lesson, lesson->name) == 0))
            return false;
    return other != lesson;
}

/* After the fix the lesson's own fault is gone, and thus a wrong choice. */
static void draw_choices(struct quiz_set *set, struct random random)
{
    struct quiz_pool causes = { .count = 0 }, places = { .count = 0 };
    bool before = set->variant == VARIANT_BEFORE;

    if (!before) {
        quiz_pool_add(&causes, set->lesson->title);
        quiz_pool_add(&places, set->lesson->look);
    }
    for (int i = 0; kernel_lessons[i] != NULL; i++)
        if (is_wrong(set->lesson, kernel_lessons[i])) {
            quiz_pool_add(&causes, kernel_lessons[i]->title);
            quiz_pool_add(&places, kernel_lessons[i]->look);
        }
    quiz_fill(set, QUIZ_CAUSE, &random, &causes, before ? set->lesson->title : NULL,
              "nothing of these");
    quiz_fill(set, QUIZ_PLACE, &random, &places, before ? set->lesson->look : NULL,
              "nothing: none of these is there");
}

static enum status add_lesson(struct quiz_sets *sets, int number, uint64_t seed)
{
    struct lesson_result result;
    double effect;

    TRY(lesson_run(&result, kernel_lessons[number], ARCH));
    if (result.verdict == LESSON_FAILED)
        FAIL(STATUS_BAD_INPUT, "%s: %s", result.lesson->name, result.reason);
    /* The change of the count that the fix moves most; 1 if none moves to a number. */
    double most = 1;
    for (int i = 0; i < prediction_count(result.lesson); i++) {
        enum kernel_count count = result.lesson->predicted[i].count;
        double factor = result.counts[0].of[count] / result.counts[1].of[count];
        if (isfinite(factor) && factor > 0)
            most = fmax(most, fmax(factor, 1 / factor));
    }
    effect = most;
    /* Without a change there is no factor to ask for. */
    for (int v = 0; v < VARIANT_COUNT && effect > 1; v++) {
        struct quiz_set *set = &sets->items[sets->count++];
        *set = (struct quiz_set){ .lesson = kernel_lessons[number],
                                  .variant = (enum variant)v,
                                  .counts = result.counts[v],
                                  .predicted = NAN,
                                  .effect = effect,
                                  .low = NAN,
                                  .high = NAN };
        draw_choices(set, random_seed(seed, (uint64_t)(QUIZ_FIRST_STREAM + 2 * number + v)));
    }

    return STATUS_OK;
}

enum status quiz_kernel_sets_make(struct quiz_sets *sets, uint64_t seed)
{
    *sets = (struct quiz_sets){ .count = 0 };
    TRY(rows_make(&sets->items, LESSONS_MOST * VARIANT_COUNT));
    for (int i = 0; i < LESSONS_MOST && kernel_lessons[i] != NULL; i++)
        TRY(add_lesson(sets, i, seed));
    return quiz_arrange(sets, seed);
}
