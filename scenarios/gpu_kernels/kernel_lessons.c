/* The list of all pairs of kernels; a new one is its file and its name here. */
#include "scenarios/gpu_kernels/kernel_lessons.h"

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

const struct kernel_lesson *kernel_lesson_find(const char *name)
{
    for (int i = 0; kernel_lessons[i] != NULL; i++)
        if (strcmp(kernel_lessons[i]->name, name) == 0)
            return kernel_lessons[i];
    return NULL;
}

bool lesson_kernel_find(const struct kernel_lesson **lesson, int *variant, const char *kernel)
{
    char name[LESSON_NAME_SIZE];

    for (int i = 0; kernel_lessons[i] != NULL; i++)
        for (int v = 0; v < LESSON_VARIANTS; v++) {
            lesson_kernel_name(name, kernel_lessons[i], v);
            if (kernel_lessons[i]->launches[v].words == NULL || strcmp(name, kernel) != 0)
                continue;
            *lesson = kernel_lessons[i];
            *variant = v;
            return true;
        }
    return false;
}
