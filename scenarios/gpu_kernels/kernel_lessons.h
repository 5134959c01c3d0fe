/* All kernel lessons. A new one is a file, a line in CMakeLists.txt, a line in kernel_lessons.c,
 * and its kernels. */
#pragma once

#include "harness/lab/kernel/lesson.h"

extern const struct kernel_lesson *const kernel_lessons[]; /* ends with NULL */

const struct kernel_lesson *kernel_lesson_find(const char *name); /* NULL: none */

/* The lesson and variant of a kernel, such as "bank_conflicts_before"; false: there is none. */
bool lesson_kernel_find(const struct kernel_lesson **lesson, int *variant, const char *kernel);
