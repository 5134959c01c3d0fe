/* The kernels of the lessons as the program has them: PTX, source, and the launch with what its
 * arrays begin with. */
#ifndef HARNESS_LAB_LESSONS_LESSON_LAUNCH_H
#define HARNESS_LAB_LESSONS_LESSON_LAUNCH_H

#include "harness/base/status.h"
#include "harness/lab/kernel_run/kernel_run.h"
#include "scenarios/gpu_kernels/kernel_lesson.h"

#include <stdbool.h>
#include <stdint.h>

enum { LESSON_NAME_SIZE = 96 };

struct lesson_kernel {
    struct kernel_run run; /* points to the other members: do not copy the struct */
    char file[LESSON_NAME_SIZE], kernel[LESSON_NAME_SIZE];
    struct kernel_argument arguments[LESSON_ARGUMENTS];
    void *own[LESSON_ARGUMENTS];
};

/* Ready for kernel_run(). BAD_INPUT: the program has no such PTX. Release it whatever the status
 * is. */
enum status lesson_kernel_make(struct lesson_kernel *made, const struct kernel_lesson *lesson,
                               int variant, int arch);
void lesson_kernel_release(struct lesson_kernel *made);

/* "bank_conflicts_before", and the lesson that has a kernel called so. */
void lesson_kernel_name(char name[LESSON_NAME_SIZE], const struct kernel_lesson *lesson,
                        int variant);
bool lesson_kernel_find(const struct kernel_lesson **lesson, int *variant, const char *kernel);

/* NAME.cu, with all kernels of the lesson. */
const char *lesson_source(const struct kernel_lesson *lesson);

/* A kernel's needs as ptxas gave them, the columns of kernels/lessons/registers.txt for an
 * architecture: registers of a thread, bytes of its local memory, bytes that it stores and loads
 * there because registers ran out. -1: the table has no such kernel. */
enum lesson_column { LESSON_REGISTERS, LESSON_LOCAL_BYTES, LESSON_SPILLED_BYTES, LESSON_COLUMNS };
int lesson_of_ptxas(const char *kernel, int arch, enum lesson_column column);

/* Rows of an array, and elements from one to the next. */
int64_t lesson_rows(const struct lesson_argument *argument, const struct lesson_launch *launch,
                    int arch);
int64_t lesson_pitch(const struct lesson_argument *argument);

#endif
