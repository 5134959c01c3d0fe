#include "harness/lab/lessons/lesson_launch.h"

#include "harness/base/rows.h"
#include "harness/lab/lessons/lesson_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATTERN_STEP = 7, PATTERN_SIZE = 16 };

static const struct embedded_file *find_file(const char *name)
{
    const struct embedded_file *file = lesson_files;

    while (file->name != NULL && strcmp(file->name, name) != 0) file++;
    return file->name != NULL ? file : NULL;
}

const char *lesson_source(const struct kernel_lesson *lesson)
{
    char name[LESSON_NAME_SIZE];
    const struct embedded_file *file;

    snprintf(name, sizeof name, "%s.cu", lesson->name);
    file = find_file(name);
    return file != NULL ? file->text : "";
}

/* A row is the kernel's name, then the columns of each architecture. */
int lesson_of_ptxas(const char *kernel, int arch, enum lesson_column column)
{
    const struct embedded_file *file = find_file("registers.txt");
    const char *line = file != NULL ? file->text : "";
    size_t length = strlen(kernel);

    while (*line != '\0' && !(strncmp(line, kernel, length) == 0 && line[length] == ' ')) {
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    if (*line == '\0')
        return -1;
    line += length;
    for (int skipped = 0; skipped < LESSON_COLUMNS * arch + (int)column; skipped++) {
        line += strspn(line, " ");
        line += strcspn(line, " \n");
    }
    return (int)strtol(line, NULL, 10);
}

bool lesson_kernel_find(const struct kernel_lesson **lesson, int *variant, const char *kernel)
{
    char name[LESSON_NAME_SIZE];

    for (int i = 0; kernel_lessons[i] != NULL; i++) {
        int steps[LESSON_VARIANTS], count = lesson_steps(kernel_lessons[i], steps);
        *lesson = kernel_lessons[i];
        for (int step = 0; step < count; step++) {
            *variant = steps[step];
            lesson_kernel_name(name, *lesson, *variant);
            if (strcmp(name, kernel) == 0)
                return true;
        }
    }
    return false;
}

void lesson_kernel_name(char name[LESSON_NAME_SIZE], const struct kernel_lesson *lesson,
                        int variant)
{
    snprintf(name, LESSON_NAME_SIZE, "%s_%s", lesson->name, lesson_variant_name(variant));
}

/* --- Arguments --- */

int64_t lesson_rows(const struct lesson_argument *argument, const struct lesson_launch *launch,
                    int arch)
{
    int64_t blocks = (int64_t)launch->blocks[arch] * (launch->blocks_y > 0 ? launch->blocks_y : 1);

    return argument->rows_per_block > 0 ? argument->rows_per_block * blocks : argument->rows;
}

int64_t lesson_pitch(const struct lesson_argument *argument)
{
    return argument->pitch > 0 ? argument->pitch : argument->columns;
}

/* A whole number from 1 to 16 as fp16: its exponent, biased by 15, and the bits below its first. */
static uint16_t half_of(unsigned number)
{
    unsigned exponent = 31 - (unsigned)__builtin_clz(number);

    return (uint16_t)((exponent + 15) << 10 | (number << (10 - exponent) & 1023));
}

/* The elements that an array begins with: small whole numbers, whose sums are exact in any
 * order. */
static enum status make_elements(void **elements, const struct lesson_argument *argument,
                                 int64_t rows)
{
    int64_t pitch = lesson_pitch(argument);
    bool halves = argument->kind == LESSON_HALVES;
    unsigned char *bytes;

    TRY(rows_make(&bytes, rows * pitch * (halves ? 2 : 4)));
    *elements = bytes;
    for (int64_t row = 0; row < rows && argument->kind != LESSON_RESULT; row++)
        for (int64_t column = 0; column < argument->columns; column++) {
            int64_t i = row * argument->columns + column;
            unsigned number = 1 + (unsigned)(i * PATTERN_STEP % PATTERN_SIZE);
            if (halves)
                ((uint16_t *)*elements)[row * pitch + column] = half_of(number);
            else
                ((float *)*elements)[row * pitch + column] = (float)number;
        }

    return STATUS_OK;
}

/* How many arguments there are. `own` has their elements, which the caller frees. */
static enum status make_arguments(struct kernel_argument *arguments, void **own, int *count,
                                  const struct lesson_launch *launch, int arch)
{
    for (*count = 0; *count < LESSON_ARGUMENTS; ++*count) {
        const struct lesson_argument *given = &launch->arguments[*count];
        struct kernel_argument *argument = &arguments[*count];
        if (given->kind == LESSON_NOTHING)
            break;
        if (given->kind == LESSON_INTEGER) {
            *argument = (struct kernel_argument){ .type = KERNEL_I32, .value = given->value };
            continue;
        }
        TRY(make_elements(&own[*count], given, lesson_rows(given, launch, arch)));
        *argument = (struct kernel_argument){
            .type = given->kind == LESSON_HALVES ? KERNEL_F16 : KERNEL_F32,
            .count = lesson_rows(given, launch, arch) * lesson_pitch(given),
            .own = own[*count],
        };
    }

    return STATUS_OK;
}

enum status lesson_kernel_make(struct lesson_kernel *made, const struct kernel_lesson *lesson,
                               int variant, int arch)
{
    const struct lesson_launch *launch = &lesson->launches[variant];
    const struct embedded_file *file;

    *made = (struct lesson_kernel){ .own = { NULL } };
    snprintf(made->file, sizeof made->file, "%s.ptx", lesson->name);
    lesson_kernel_name(made->kernel, lesson, variant);
    file = find_file(made->file);
    if (file == NULL)
        FAIL(STATUS_BAD_INPUT, "the program has no %s", made->file);
    made->run = (struct kernel_run){
        .ptx = file->text,
        .ptx_bytes = file->bytes,
        .name = made->file,
        .kernel = made->kernel,
        .blocks = { launch->blocks[arch], launch->blocks_y > 0 ? launch->blocks_y : 1, 1 },
        .threads = { launch->threads, launch->threads_y > 0 ? launch->threads_y : 1, 1 },
        .arguments = made->arguments,
    };
    TRY(make_arguments(made->arguments, made->own, &made->run.argument_count, launch, arch));

    return STATUS_OK;
}

void lesson_kernel_release(struct lesson_kernel *made)
{
    for (int i = 0; i < LESSON_ARGUMENTS; i++) free(made->own[i]);
    *made = (struct lesson_kernel){ .own = { NULL } };
}
