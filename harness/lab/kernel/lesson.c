/* Questions to a lesson's data, and its files. The program has these in itself, so that a lesson
 * needs neither a toolkit nor a checkout. */
#include "harness/lab/kernel/lesson.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Tolerance of exact counts, which are sums and ratios of whole numbers. */
#define EXACT_WITHIN 1e-9

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

int prediction_count(const struct kernel_lesson *lesson)
{
    int count = 0;

    while (count < LESSON_PREDICTIONS && lesson->predicted[count].count != KERNEL_COUNT_NONE)
        count++;
    return count;
}

double prediction_value(const struct prediction *prediction, int variant, int arch)
{
    const double *const values[] = { prediction->before, prediction->after, prediction->between };

    return values[variant][arch];
}

/* NaN holds nothing. */
bool prediction_holds(const struct prediction *prediction, double measured, int variant, int arch)
{
    double value = prediction_value(prediction, variant, arch);
    double within = prediction->within > 0 ? prediction->within : EXACT_WITHIN;

    return fabs(measured - value) <= within * fabs(value);
}

void lesson_kernel_name(char name[LESSON_NAME_SIZE], const struct kernel_lesson *lesson,
                        int variant)
{
    snprintf(name, LESSON_NAME_SIZE, "%s_%s", lesson->name, lesson_variant_name(variant));
}

/* --- Its files --- */

/* The list of files ends with one that has no name. */
const struct embedded_file *lesson_file(const char *name)
{
    const struct embedded_file *file = lesson_files;

    while (file->name != NULL && strcmp(file->name, name) != 0) file++;
    return file->name != NULL ? file : NULL;
}

/* NULL: the program has no source of it. */
static const struct embedded_file *find_source(const struct kernel_lesson *lesson)
{
    char name[LESSON_NAME_SIZE];

    snprintf(name, sizeof name, "%s.cu", lesson->name);
    return lesson_file(name);
}

const char *lesson_source(const struct kernel_lesson *lesson)
{
    const struct embedded_file *file = find_source(lesson);

    return file != NULL ? file->text : "";
}

const char *lesson_source_name(const struct kernel_lesson *lesson)
{
    const struct embedded_file *file = find_source(lesson);

    return file != NULL ? file->name : "";
}

/* A row is the kernel's name, then for each architecture its registers, the bytes of its local
 * memory, and those that it spills. */
struct kernel_needs lesson_needs(const char *kernel, int arch)
{
    const struct embedded_file *file = lesson_file("registers.txt");
    const char *line = file != NULL ? file->text : "";
    struct kernel_needs needs = { 0 };
    size_t length = strlen(kernel);

    while (*line != '\0' && !(strncmp(line, kernel, length) == 0 && line[length] == ' ')) {
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    for (int skipped = -1; *line != '\0' && skipped < 3 * arch; skipped++) {
        line += strspn(line, " ");
        line += strcspn(line, " \n");
    }
    (void)sscanf(line, "%d %*d %d", &needs.registers, &needs.spilled_bytes);
    return needs;
}

enum status lesson_kernel_make(struct lesson_kernel *made, const struct kernel_lesson *lesson,
                               int variant, int arch)
{
    const struct lesson_launch *launch = &lesson->launches[variant];
    const unsigned blocks_y = launch->blocks_y > 0 ? launch->blocks_y : 1;
    const unsigned threads_y = launch->threads_y > 0 ? launch->threads_y : 1;
    const struct embedded_file *file;

    *made = (struct lesson_kernel){ .run = { .name = made->file,
                                             .kernel = made->kernel,
                                             .blocks = { launch->blocks[arch], blocks_y, 1 },
                                             .threads = { launch->threads, threads_y, 1 },
                                             .arguments = made->arguments } };
    snprintf(made->file, sizeof made->file, "%s.ptx", lesson->name);
    lesson_kernel_name(made->kernel, lesson, variant);
    file = lesson_file(made->file);
    if (file == NULL)
        FAIL(STATUS_BAD_INPUT, "the program has no %s", made->file);
    made->run.ptx = file->text;
    made->run.ptx_bytes = file->bytes;
    for (int i = 0; i < LESSON_ARGUMENTS; i++) {
        made->arguments[i] = launch->arguments[i];
        if (made->arguments[i].pattern == KERNEL_UNWRITTEN)
            break;
        if (made->arguments[i].per_block)
            made->arguments[i].count *= (int64_t)launch->blocks[arch] * blocks_y;
        made->run.argument_count++;
    }
    return STATUS_OK;
}
