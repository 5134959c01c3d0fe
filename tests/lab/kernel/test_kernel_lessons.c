/* Each pair of kernels computes the same, and its counts are those that the lesson's arithmetic
 * gives; a lesson whose arithmetic or kernels are wrong is not as predicted. */
#include "harness/lab/kernel/lesson_run.h"
#include "scenarios/gpu_kernels/kernel_lessons.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>
#include <time.h>

/* The narrowest screen has 60 columns; fifteen lines are read at a glance. */
enum { LINE_COLUMNS = 58, LINES_MOST = 15, SECONDS_MOST = 60 };

static void assert_as_predicted(const struct kernel_lesson *lesson, int arch)
{
    struct lesson_result result;

    assert_ok(lesson_run(&result, lesson, arch));
    if (result.verdict != LESSON_AS_PREDICTED)
        fail_msg("%s on sm_%d: %s: %s", lesson->name, architectures[arch].number,
                 lesson_verdict_name(result.verdict), result.reason);
}

TEST(each_pair_computes_the_same_and_counts_as_predicted)
{
    clock_t begin = clock();

    for (int i = 0; kernel_lessons[i] != NULL; i++) assert_as_predicted(kernel_lessons[i], ARCH_90);
    assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < SECONDS_MOST);
}

static bool depends_on_arch(const struct kernel_lesson *lesson)
{
    for (int i = 0; i < prediction_count(lesson); i++)
        for (int arch = 1; arch < ARCH_COUNT; arch++)
            if (lesson->predicted[i].before[arch] != lesson->predicted[i].before[0])
                return true;
    return false;
}

TEST(what_depends_on_the_architecture_is_predicted_for_each)
{
    int count = 0;

    for (int i = 0; kernel_lessons[i] != NULL; i++)
        for (int arch = 0; depends_on_arch(kernel_lessons[i]) && arch < ARCH_COUNT; arch++) {
            assert_as_predicted(kernel_lessons[i], arch);
            count++;
        }
    assert_int_equal(count, 2 * ARCH_COUNT);
}

/* Every number that is predicted, one at a time: by 1, or by three times what it may be off. */
TEST(a_wrong_prediction_is_not_as_predicted)
{
    for (int i = 0; kernel_lessons[i] != NULL; i++) {
        struct lesson_result result;
        assert_ok(lesson_run(&result, kernel_lessons[i], ARCH_90));
        for (int n = 0; n < LESSON_VARIANTS * prediction_count(kernel_lessons[i]); n++) {
            struct kernel_lesson planted = *kernel_lessons[i];
            struct prediction *prediction = &planted.predicted[n / LESSON_VARIANTS];
            double *of[] = { prediction->before, prediction->after, prediction->between };
            double *value = &of[n % LESSON_VARIANTS][ARCH_90];
            if (planted.launches[n % LESSON_VARIANTS].words == NULL)
                continue;
            *value += prediction->within * *value > 0 ? 3 * prediction->within * *value : 1;
            result.lesson = &planted;
            lesson_judge(&result);
            if (result.verdict != LESSON_NOT_AS_PREDICTED ||
                strstr(result.reason, kernel_counts[prediction->count].name) == NULL)
                fail_msg("%s: %s may be wrong", planted.name,
                         kernel_counts[prediction->count].name);
        }
    }
}

TEST(a_count_that_is_missing_is_not_as_predicted)
{
    const struct prediction prediction = { KERNEL_COUNT_SECTORS_PER_LOAD, ON_ALL(4), ON_ALL(4),
                                           .within = 0 };

    assert_false(prediction_holds(&prediction, NAN, 0, 0));
}

static void assert_fails(const struct kernel_lesson *lesson, const char *reason)
{
    struct lesson_result result;

    assert_ok(lesson_run(&result, lesson, ARCH_90));
    assert_int_equal(result.verdict, LESSON_FAILED);
    if (strstr(result.reason, reason) == NULL)
        fail_msg("%s is not in: %s", reason, result.reason);
    assert_true(isnan(result.counts[0].of[KERNEL_COUNT_GLOBAL_LOADS]));
}

TEST(results_that_differ_fail)
{
    struct kernel_lesson planted = *kernel_lesson_find("few_loads_in_flight");

    planted.launches[1].arguments[2].value /= 2; /* rows */
    assert_fails(&planted, "do not compute the same");
}

TEST(a_step_between_that_differs_fails)
{
    struct kernel_lesson planted = *kernel_lesson_find("serial_reduction");

    planted.launches[LESSON_BETWEEN].blocks[ARCH_90] /= 2;
    assert_fails(&planted, "before and between do not compute the same");
}

TEST(an_access_out_of_bounds_fails)
{
    struct kernel_lesson planted = *kernel_lesson_find("uncoalesced_access");

    planted.launches[0].arguments[0].count /= 2;
    assert_fails(&planted, "out of bounds at uncoalesced_access.cu:");
}

TEST(kernels_that_are_not_there_fail)
{
    struct kernel_lesson planted = *kernel_lesson_find("no_reuse");

    planted.name = "reuse";
    assert_fails(&planted, "reuse.ptx");
}

TEST(registers_are_those_of_ptxas)
{
    assert_int_equal(lesson_needs("nothing_before", ARCH_80).registers, 0);
    for (int i = 0; kernel_lessons[i] != NULL; i++)
        for (int v = 0; v < LESSON_VARIANTS; v++)
            for (int arch = 0; arch < ARCH_COUNT; arch++) {
                char kernel[LESSON_NAME_SIZE];
                if (kernel_lessons[i]->launches[v].words == NULL)
                    continue;
                lesson_kernel_name(kernel, kernel_lessons[i], v);
                assert_in_range(lesson_needs(kernel, arch).registers, 1, 255);
            }
}

static void assert_lines(const char *name, const char *lines)
{
    int count = 0;

    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");
        if (length > LINE_COLUMNS)
            fail_msg("%s: more than %d columns: %.*s", name, LINE_COLUMNS, (int)length, lines);
        lines += length + (lines[length] == '\n');
        count++;
    }
    if (count > LINES_MOST)
        fail_msg("%s: %d lines", name, count);
}

/* Lines of both variants, or the reason why there are none. */
static void assert_language(const char *name, const struct lesson_lines *lines)
{
    if ((lines->before == NULL) != (lines->after == NULL) ||
        (lines->before == NULL) == (lines->instead == NULL))
        fail_msg("%s: a language has neither its lines nor a reason", name);
    if (lines->before == NULL)
        return;
    assert_lines(name, lines->before);
    assert_lines(name, lines->after);
}

static bool something_moves(const struct kernel_lesson *lesson, int arch)
{
    for (int i = 0; i < prediction_count(lesson); i++)
        if (lesson->predicted[i].before[arch] != lesson->predicted[i].after[arch])
            return true;
    return false;
}

TEST(every_lesson_is_whole)
{
    int count = 0;

    for (; kernel_lessons[count] != NULL; count++) {
        const struct kernel_lesson *lesson = kernel_lessons[count];
        const char *points[] = { lesson->title, lesson->symptom, lesson->cause,  lesson->fix,
                                 lesson->look,  lesson->cost,    lesson->section };
        for (size_t point = 0; point < ARRAY_SIZE(points); point++)
            if (points[point] == NULL || points[point][0] == '\0')
                fail_msg("%s: point %zu of the lesson is missing", lesson->name, point);
        if (lesson->cuda.before == NULL)
            fail_msg("%s has no lines of CUDA C", lesson->name);
        assert_language(lesson->name, &lesson->cuda);
        assert_language(lesson->name, &lesson->triton);
        assert_language(lesson->name, &lesson->pytorch);
        assert_ptr_equal(kernel_lesson_find(lesson->name), lesson);
        for (int arch = 0; arch < ARCH_COUNT; arch++)
            if (!something_moves(lesson, arch))
                fail_msg("%s predicts no change on sm_%d", lesson->name,
                         architectures[arch].number);
    }
    assert_true(count >= 12);
}

/* The program has the source and the PTX of each lesson and of kernels/strides, and the table. */
TEST(every_file_belongs_to_a_lesson)
{
    int files = 0, lessons = 0;

    while (lesson_files[files].name != NULL) files++;
    while (kernel_lessons[lessons] != NULL) lessons++;
    assert_int_equal(files, 2 * lessons + 2 + 1);
    for (int i = 0; i < lessons; i++)
        assert_non_null(strstr(lesson_source(kernel_lessons[i]), kernel_lessons[i]->name));
}
