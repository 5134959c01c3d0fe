/* The pairs of kernels of a run, after its scenarios. They are executed and counted on the host, so
 * they need no GPU and no child process; if the run's device is a GPU, they are timed on it as
 * well. Kernels are counted for the architecture of --arch, or of the GPU, or for one that is
 * assumed. */
#include "harness/cli/train/run.h"

#include "harness/base/rows.h"
#include "harness/bench/interrupt.h"
#include "scenarios/gpu_kernels/kernel_lessons.h"

#include <stdlib.h>
#include <string.h>

enum { ARCH_ASSUMED = ARCH_90 };

enum status run_lessons_check(struct choice *choice, const struct flags *flags)
{
    if (choice_lessons(choice) == 0)
        return STATUS_OK;
    if (flags->aa && choice_count(choice) == 0)
        FAIL(STATUS_BAD_USAGE, "--aa compares times, and pairs of kernels are counted, not timed");
    if (flags->ranks > 0 && choice_count(choice) == 0)
        FAIL(STATUS_BAD_USAGE, "--ranks=%d: pairs of kernels have no ranks", flags->ranks);
    if (flags->aa)
        /* Nothing of them is timed against itself: A/A leaves them out. */
        memset(choice->lessons, 0, sizeof choice->lessons);

    return STATUS_OK;
}

enum status run_lessons_measure(struct run_lessons *lessons, const struct choice *choice,
                                const struct device_properties *properties,
                                struct result_file *file)
{
    enum status status = STATUS_OK;
    int gpu = architecture_find(properties->compute_capability);
    int arch = lessons->arch > 0 ? lessons->arch - 1 : gpu >= 0 ? gpu : ARCH_ASSUMED;
    struct device *device = NULL;
    char name[16];

    device_name_print(name, sizeof name, properties);
    if (properties->is_gpu && choice_lessons(choice) > 0)
        TRY_OUT(device_open(&device, name, NULL));
    TRY_OUT(rows_make(&lessons->results, choice_lessons(choice)));
    for (int i = 0; i < CHOICE_LESSONS_MAX && !interrupt_signal(); i++) {
        if (!choice->lessons[i])
            continue;
        TRY_OUT(lesson_run(&lessons->results[lessons->count], kernel_lessons[i], arch));
        if (device != NULL)
            lesson_time(&lessons->results[lessons->count], device);
        lessons->count++;
        TRY_OUT(result_file_add_lesson(file, &lessons->results[lessons->count - 1]));
    }

out:
    device_close(device);
    return status;
}

bool run_lessons_are_well(const struct run_lessons *lessons)
{
    for (int i = 0; i < lessons->count; i++)
        if (lessons->results[i].verdict != LESSON_AS_PREDICTED)
            return false;
    return true;
}

void run_lessons_release(struct run_lessons *lessons)
{
    free(lessons->results);
}
