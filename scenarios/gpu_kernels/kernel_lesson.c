/* All kernel lessons. A new one is a file, a line in CMakeLists.txt, a line here, and its
 * kernels. */
#include "scenarios/gpu_kernels/kernel_lesson.h"

#include <string.h>

/* names, as `list` prints them: memory first, then lanes, then the launch as a whole */
#define KERNEL_LESSONS(X)                                                                          \
    X(uncoalesced_access)                                                                          \
    X(misaligned_rows)                                                                             \
    X(scalar_access)                                                                               \
    X(tensor_core_shapes)                                                                          \
    X(few_loads_in_flight)                                                                         \
    X(no_reuse)                                                                                    \
    X(register_spills)                                                                             \
    X(bank_conflicts)                                                                              \
    X(redundant_barriers)                                                                          \
    X(divergent_branches)                                                                          \
    X(serial_reduction)                                                                            \
    X(contended_atomics)                                                                           \
    X(low_occupancy)                                                                               \
    X(tail_effect)

#define DECLARE(name) extern const struct kernel_lesson kernel_lesson_##name;
KERNEL_LESSONS(DECLARE)

#define ROW(name) &kernel_lesson_##name,
const struct kernel_lesson *const kernel_lessons[] = { KERNEL_LESSONS(ROW) NULL };

const struct kernel_count_row kernel_counts[] = {
#define COUNT_ROW(id, name, unit, meaning, metric)                                                 \
    [KERNEL_COUNT_##id] = { name, unit, meaning, metric },
    KERNEL_COUNTS(COUNT_ROW)
};

const int lesson_arches[LESSON_ARCH_COUNT] = {
#define ARCH_ROW(number) number,
    LESSON_ARCHES(ARCH_ROW)
};

const struct kernel_lesson *kernel_lesson_find(const char *name)
{
    for (int i = 0; kernel_lessons[i] != NULL; i++)
        if (strcmp(kernel_lessons[i]->name, name) == 0)
            return kernel_lessons[i];
    return NULL;
}

const char *lesson_variant_name(int variant)
{
    static const char *const names[] = { "before", "after", "between" };

    return names[variant];
}

bool lesson_has_between(const struct kernel_lesson *lesson)
{
    return lesson->launches[LESSON_BETWEEN].words != NULL;
}

int lesson_steps(const struct kernel_lesson *lesson, int steps[LESSON_VARIANTS])
{
    int count = 0;

    steps[count++] = LESSON_BEFORE;
    if (lesson_has_between(lesson))
        steps[count++] = LESSON_BETWEEN;
    steps[count++] = LESSON_AFTER;
    return count;
}

int lesson_arch_find(int number)
{
    int arch = LESSON_ARCH_COUNT - 1;

    while (arch >= 0 && lesson_arches[arch] != number) arch--;
    return arch;
}
