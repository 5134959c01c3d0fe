/* A kernel lesson: a pair of short kernels with one thing wrong in the first, as data.
 *
 * kernels/lessons/NAME.cu has the kernels, NAME_before and NAME_after, which compute the same; if
 * the way has two steps it has NAME_between as well. A count must show, which follows from the
 * source by arithmetic: a row of .predicted has that arithmetic, and a machine that executes the
 * kernels' PTX says whether it is true (lesson_run.h). So a lesson needs no GPU, and says nothing
 * of times.
 *
 * scenarios/gpu_kernels has a file for each lesson, and the list of them. */
#pragma once

#include "harness/base/embedded_file.h"
#include "harness/lab/kernel/kernel_counts.h"

/* The same number for each architecture. */
#define ON_ALL(x)                                                                                  \
    {                                                                                              \
        x, x, x                                                                                    \
    }

/* The first two are those of enum variant. */
enum lesson_variant { LESSON_BEFORE, LESSON_AFTER, LESSON_BETWEEN, LESSON_VARIANTS };
const char *lesson_variant_name(int variant); /* "before" ... */

enum { LESSON_ARGUMENTS = 4, LESSON_PREDICTIONS = 4, LESSON_NAME_SIZE = 96 };

/* Arguments: an input, the same in all variants; a result, zero before the launch, of which all
 * variants must give the same; a number. */
#define LESSON_FLOATS(elements)                                                                    \
    {                                                                                              \
        KERNEL_F32, elements, KERNEL_SMALL                                                         \
    }
#define LESSON_RESULT(elements)                                                                    \
    {                                                                                              \
        KERNEL_F32, elements, KERNEL_ZERO                                                          \
    }
#define LESSON_INTEGER(number)                                                                     \
    {                                                                                              \
        KERNEL_I32, 0, KERNEL_VALUE, number                                                        \
    }

struct lesson_launch {
    const char *words; /* what differs, in the table: "tile[32][33]"; NULL: no such variant */
    unsigned blocks[ARCH_COUNT], blocks_y, threads, threads_y; /* y: 0 is 1 */
    struct kernel_argument arguments[LESSON_ARGUMENTS];        /* UNWRITTEN: the end */
};

/* Blocks for each architecture and threads, in one dimension, then the arguments; or columns and
 * rows of blocks, the same for all, and of threads. */
#define LESSON_LAUNCH(how, grid, block, ...)                                                       \
    {                                                                                              \
        .words = how, .blocks = grid, .threads = block, .arguments = { __VA_ARGS__ }               \
    }
#define LESSON_LAUNCH_2D(how, grid, grid_y, block, block_y, ...)                                   \
    {                                                                                              \
        how, ON_ALL(grid), grid_y, block, block_y,                                                 \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

/* A count of each variant by architecture, as arithmetic gives it. A measured count must be the
 * same to the last digit, or within a share of it: `within` is for counts of instructions, which
 * depend on the compiler. */
struct prediction {
    enum kernel_count count; /* KERNEL_COUNT_NONE: the end */
    double before[ARCH_COUNT], after[ARCH_COUNT];
    double within, between[ARCH_COUNT];
};

/* The lines that differ, in a language; NULL: it has no such thing, and `instead` says why. */
struct lesson_lines {
    const char *before, *after, *instead;
};

struct kernel_lesson {
    const char *name; /* also the stem of its files in scenarios/gpu_kernels and kernels/lessons */
    const char *title;
    const char *also;                                /* as a scenario has them */
    const char *symptom, *cause, *fix, *look, *cost; /* the lesson, one sentence each */
    const char *section, *rule; /* of Nsight Compute: identifiers; rule NULL: none says it */
    struct lesson_lines cuda, triton, pytorch;
    struct lesson_launch launches[LESSON_VARIANTS]; /* by enum lesson_variant */
    struct prediction predicted[LESSON_PREDICTIONS];
};

/* The variants of a lesson from the wrong one to the right one; returns how many: 2 or 3. */
int lesson_steps(const struct kernel_lesson *lesson, int steps[LESSON_VARIANTS]);
bool lesson_has_between(const struct kernel_lesson *lesson);

int prediction_count(const struct kernel_lesson *lesson);

/* The value that is predicted of a count in a variant. */
double prediction_value(const struct prediction *prediction, int variant, int arch);

/* Whether a count is as predicted; a count that is NaN is not. */
bool prediction_holds(const struct prediction *prediction, double measured, int variant, int arch);

/* "bank_conflicts_before" */
void lesson_kernel_name(char name[LESSON_NAME_SIZE], const struct kernel_lesson *lesson,
                        int variant);

/* --- Its files --- */

/* The files that the program has in itself: NAME.cu and NAME.ptx of each lesson and of
 * kernels/strides, and registers.txt. */
extern const struct embedded_file lesson_files[];          /* ends with a NULL name */
const struct embedded_file *lesson_file(const char *name); /* NULL: there is none */

/* NAME.cu, with all kernels of the lesson, and its name. */
const char *lesson_source(const struct kernel_lesson *lesson);
const char *lesson_source_name(const struct kernel_lesson *lesson);

/* A row of kernels/lessons/registers.txt for an architecture; 0: the table has no such kernel. */
struct kernel_needs lesson_needs(const char *kernel, int arch);

/* A variant's launch, ready for kernel_run(): its `run` points to the other members, so do not copy
 * the struct. BAD_INPUT: the program has no such PTX. */
struct lesson_kernel {
    struct kernel_run run;
    char file[LESSON_NAME_SIZE], kernel[LESSON_NAME_SIZE];
    struct kernel_argument arguments[LESSON_ARGUMENTS];
};
enum status lesson_kernel_make(struct lesson_kernel *made, const struct kernel_lesson *lesson,
                               int variant, int arch);
