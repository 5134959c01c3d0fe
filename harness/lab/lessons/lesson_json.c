#include "harness/lab/lessons/lesson_json.h"

#include "harness/text/benchmark_rows.h"
#include "scenarios/scenario.h"

#include <math.h>
#include <stdio.h>

/* --- The list --- */

static void add_lines(struct json *json, cJSON *to, const char *name,
                      const struct lesson_lines *lines)
{
    cJSON *object = json_object(json, to, name);

    json_text(json, object, "before", lines->before);
    json_text(json, object, "after", lines->after);
    json_text(json, object, "instead", lines->instead);
}

static void add_foretold(struct json *json, cJSON *array, const struct foretold *foretold,
                         bool between, int arch)
{
    cJSON *object = json_object(json, array, NULL);
    const struct kernel_count_row *count = &kernel_counts[foretold->count];

    json_text(json, object, "count", count->name);
    json_text(json, object, "unit", count->unit);
    json_text(json, object, "meaning", count->meaning);
    json_text(json, object, "metric", count->metric);
    json_integer(json, object, "arch", lesson_arches[arch]);
    json_number(json, object, "before", foretold->before[arch]);
    json_number(json, object, "after", foretold->after[arch]);
    json_number(json, object, "between", between ? foretold->between[arch] : NAN);
    json_number(json, object, "within", foretold->within);
}

static void add_lesson(struct json *json, cJSON *array, const struct kernel_lesson *lesson)
{
    cJSON *object = json_object(json, array, NULL), *foretold;

    json_text(json, object, "name", lesson->name);
    json_text(json, object, "group", scenario_groups[GROUP_GPU_KERNELS].name);
    json_text(json, object, "title", lesson->title);
    json_text(json, object, "symptom", lesson->symptom);
    json_text(json, object, "cause", lesson->cause);
    json_text(json, object, "fix", lesson->fix);
    json_text(json, object, "look", lesson->look);
    json_text(json, object, "cost", lesson->cost);
    json_text(json, object, "section", lesson->section);
    json_text(json, object, "rule", lesson->rule);
    add_lines(json, object, "cuda", &lesson->cuda);
    add_lines(json, object, "triton", &lesson->triton);
    add_lines(json, object, "pytorch", &lesson->pytorch);
    json_text(json, object, "before", lesson->launches[0].words);
    json_text(json, object, "after", lesson->launches[1].words);
    json_text(json, object, "between", lesson->launches[LESSON_BETWEEN].words);
    foretold = json_array(json, object, "foretold");
    for (int i = 0; i < foretold_count(lesson); i++)
        for (int arch = 0; arch < LESSON_ARCH_COUNT; arch++)
            add_foretold(json, foretold, &lesson->foretold[i], lesson_has_between(lesson), arch);
}

void lessons_json(struct json *json, cJSON *array)
{
    for (int i = 0; kernel_lessons[i] != NULL; i++) add_lesson(json, array, kernel_lessons[i]);
}

/* --- A result --- */

static void add_count(struct json *json, cJSON *array, const struct lesson_result *result,
                      const struct foretold *foretold)
{
    static const char *const told[] = { "foretold_before", "foretold_after", "foretold_between" };
    cJSON *object = json_object(json, array, NULL);
    bool holds = true;

    json_text(json, object, "count", kernel_counts[foretold->count].name);
    json_text(json, object, "unit", kernel_counts[foretold->count].unit);
    for (int v = 0; v < LESSON_VARIANTS; v++)
        json_number(json, object, lesson_variant_name(v), result->counts[v].of[foretold->count]);
    for (int v = 0; v < LESSON_VARIANTS; v++) {
        bool there = result->lesson->launches[v].words != NULL;
        json_number(json, object, told[v], there ? foretold_value(foretold, v, result->arch) : NAN);
        holds = holds && (!there || foretold_holds(foretold, result->counts[v].of[foretold->count],
                                                   v, result->arch));
    }
    json_number(json, object, "within", foretold->within);
    json_bool(json, object, "holds", holds);
}

static void add_all_counts(struct json *json, cJSON *to, const char *name,
                           const struct lesson_counts *counts)
{
    cJSON *object = json_object(json, to, name);

    for (int i = KERNEL_COUNT_FIRST; i < KERNEL_COUNT_COUNT; i++)
        json_known_number(json, object, kernel_counts[i].name, counts->of[i]);
}

void lesson_result_add(struct json *json, cJSON *kernels, const struct lesson_result *result)
{
    const struct kernel_lesson *lesson = result->lesson;
    cJSON *object = json_object(json, kernels, NULL), *counts;

    json_text(json, object, "name", lesson->name);
    json_text(json, object, "title", lesson->title);
    json_text(json, object, "verdict", lesson_verdict_name(result->verdict));
    json_text(json, object, "reason", result->reason);
    json_text(json, object, "before", lesson->launches[0].words);
    json_text(json, object, "after", lesson->launches[1].words);
    json_text(json, object, "between", lesson->launches[LESSON_BETWEEN].words);
    json_integer(json, object, "arch", lesson_arches[result->arch]);
    counts = json_array(json, object, "counts");
    for (int i = 0; i < foretold_count(lesson); i++)
        add_count(json, counts, result, &lesson->foretold[i]);
    add_all_counts(json, object, "counts_before", &result->counts[0]);
    add_all_counts(json, object, "counts_after", &result->counts[1]);
    if (lesson_has_between(lesson))
        add_all_counts(json, object, "counts_between", &result->counts[LESSON_BETWEEN]);
    else
        json_text(json, object, "counts_between", NULL);
    json_number(json, object, "device_ns_before", result->device_ns[LESSON_BEFORE]);
    json_number(json, object, "device_ns_after", result->device_ns[LESSON_AFTER]);
    json_number(json, object, "device_ns_between", result->device_ns[LESSON_BETWEEN]);
    json_number(json, object, "seconds", result->seconds);
}

/* --- Rows --- */

struct rows_of_variant {
    const struct lesson_result *result;
    int variant;
};

static const char *counter_name(int counter)
{
    return kernel_counts[KERNEL_COUNT_FIRST + counter].name;
}

static int64_t iterations_of(const void *rows, int repetition)
{
    (void)rows;
    (void)repetition;
    return 1;
}

static double value_of(const void *rows, int column, int repetition)
{
    const struct rows_of_variant *of = rows;

    if (column < 0)
        return of->result->host_us[of->variant][repetition];
    return of->result->counts[of->variant].of[KERNEL_COUNT_FIRST + column];
}

static bool label_of(const void *rows, int repetition, char *text, size_t size)
{
    (void)rows;
    (void)repetition;
    snprintf(text, size, "counted; the time is the host's, to execute the PTX");
    return true;
}

void lesson_rows_add(struct json *json, cJSON *benchmarks, const struct lesson_result *result,
                     int family)
{
    int steps[LESSON_VARIANTS], count = lesson_steps(result->lesson, steps);

    for (int step = 0; step < count && result->verdict != LESSON_FAILED; step++) {
        int v = steps[step];
        char name[96];
        const struct rows_of_variant of = { result, v };
        const struct benchmark_rows rows = {
            .name = name,
            .time_unit = "us",
            .family = family,
            .instance = step,
            .repetitions = LESSON_REPETITIONS,
            .counters = KERNEL_COUNT_COUNT - KERNEL_COUNT_FIRST,
            .result = &of,
            .counter = counter_name,
            .iterations = iterations_of,
            .value = value_of,
            .label = label_of,
        };

        snprintf(name, sizeof name, "%s/counts:%s", result->lesson->name, lesson_variant_name(v));
        benchmark_rows_add(json, benchmarks, &rows);
    }
}
