/* The kernels of a lesson on a GPU: each is loaded from its PTX and checked once, then the variants
 * take turns, so that all see the same clocks. */
#include "harness/lab/kernel/lesson_run.h"

#include "harness/base/figures/statistics.h"
#include "harness/base/rows.h"
#include "harness/device/device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LESSON_ROUNDS = 9, LAUNCHES_MOST = 100 };
#define ROUND_NS 1e6

/* Values may differ by so much of the larger one: ptxas may join a product and a sum, which rounds
 * once and not twice. */
#define WITHIN 1e-5

/* A kernel that is ready on the device. */
struct ready {
    struct lesson_kernel lesson;
    struct ptx_kernel *kernel;
    void *memory[LESSON_ARGUMENTS]; /* NULL: a scalar */
    uint64_t bits[LESSON_ARGUMENTS];
    void *arguments[LESSON_ARGUMENTS];
    int launches; /* of a round */
    double ns[LESSON_ROUNDS];
};

/* The rounds share these. */
struct clockwork {
    struct device *device;
    struct stream *stream;
    struct event *begin, *end;
};

/* Memory of the device with what the array begins with. */
static enum status load_array(void **memory, const struct clockwork *clockwork,
                              const struct kernel_argument *argument)
{
    enum status status = STATUS_OK;
    size_t bytes = kernel_argument_bytes(argument);
    unsigned char *elements = NULL;

    TRY_OUT(rows_make(&elements, (int64_t)bytes));
    kernel_argument_fill(argument, elements);
    TRY_OUT(device_alloc(clockwork->device, NULL, ALLOCATE_DIRECT, bytes, memory));
    TRY_OUT(device_copy(clockwork->stream, COPY_HOST_TO_DEVICE, *memory, elements, bytes));

out:
    free(elements);
    return status;
}

/* A launch takes addresses of arguments: of the pointer for an array, of the bits for a scalar. */
static enum status load_kernel(struct ready *ready, const struct clockwork *clockwork,
                               const struct lesson_result *result, int variant)
{
    const struct kernel_run *run = &ready->lesson.run;

    TRY(lesson_kernel_make(&ready->lesson, result->lesson, variant, result->arch));
    TRY(device_ptx_load(clockwork->device, run->ptx, run->kernel, &ready->kernel));
    for (int i = 0; i < run->argument_count; i++) {
        const struct kernel_argument *argument = &run->arguments[i];
        ready->arguments[i] = argument->count > 0 ? (void *)&ready->memory[i] : &ready->bits[i];
        if (argument->count > 0)
            TRY(load_array(&ready->memory[i], clockwork, argument));
        else
            kernel_scalar(argument, &ready->bits[i]);
    }
    return STATUS_OK;
}

/* The time of so many launches, each. */
static enum status time_launches(struct ready *ready, const struct clockwork *clockwork,
                                 int launches, double *ns)
{
    const struct kernel_run *run = &ready->lesson.run;
    struct ptx_launch one = { .arguments = ready->arguments };

    memcpy(one.blocks, run->blocks, sizeof one.blocks);
    memcpy(one.threads, run->threads, sizeof one.threads);
    TRY(event_record(clockwork->begin, clockwork->stream));
    for (int i = 0; i < launches; i++)
        TRY(device_ptx_launch(clockwork->stream, ready->kernel, &one));
    TRY(event_record(clockwork->end, clockwork->stream));
    TRY(event_synchronize(clockwork->end));
    TRY(event_elapsed(clockwork->begin, clockwork->end, ns));
    *ns /= launches;

    return STATUS_OK;
}

/* The values of one launch, from the device: of the arrays that begin as zeros, which are a
 * lesson's results (lesson_output_add()). */
static enum status fetch_output(struct lesson_output *output, const struct ready *ready,
                                const struct clockwork *clockwork)
{
    enum status status = STATUS_OK;
    const struct kernel_run *run = &ready->lesson.run;
    void *elements[LESSON_ARGUMENTS] = { NULL };

    for (int i = 0; i < run->argument_count; i++) {
        size_t bytes = kernel_argument_bytes(&run->arguments[i]);
        if (run->arguments[i].pattern != KERNEL_ZERO)
            continue;
        elements[i] = malloc(bytes);
        if (elements[i] == NULL)
            FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory for the results of %s", run->kernel);
        TRY_OUT(device_copy(clockwork->stream, COPY_DEVICE_TO_HOST, elements[i], ready->memory[i],
                            bytes));
    }
    TRY_OUT(lesson_output_add(output, &ready->lesson, (const void *const *)elements));

out:
    for (int i = 0; i < LESSON_ARGUMENTS; i++) free(elements[i]);
    return status;
}

/* Equal bits, or nearly the same number. */
static bool outputs_agree(const struct lesson_output *output, const struct lesson_output *wanted)
{
    if (output->count != wanted->count)
        return false;
    for (int64_t i = 0; i < wanted->count; i++) {
        float a = output->values[i], b = wanted->values[i];
        if (memcmp(&a, &b, sizeof a) != 0 && !(fabsf(a - b) <= WITHIN * fmaxf(fabsf(a), fabsf(b))))
            return false;
    }
    return true;
}

/* One launch, whose values are those of the machine that executes PTX, or the result has failed. */
static enum status check_kernel(struct ready *ready, const struct clockwork *clockwork,
                                struct lesson_result *result, int variant)
{
    enum status status = STATUS_OK;
    struct lesson_output wanted = { NULL, 0 }, output = { NULL, 0 };
    struct lesson_counts counts;
    double ns;

    TRY_OUT(time_launches(ready, clockwork, 1, &ns));
    TRY_OUT(fetch_output(&output, ready, clockwork));
    TRY_OUT(lesson_measure(&counts, &wanted, result->lesson, variant, result->arch));
    if (!outputs_agree(&output, &wanted)) {
        char reason[256];
        snprintf(reason, sizeof reason,
                 "%s computes other values on %s than when its PTX is executed here",
                 ready->lesson.kernel, device_properties(clockwork->device)->name);
        lesson_fail(result, reason);
    }
    /* The first launch loaded the code. A round then lasts about ROUND_NS, which is long beside the
     * resolution of events, within bounds on the launches. */
    TRY_OUT(time_launches(ready, clockwork, 1, &ns));
    ready->launches = (int)fmin(fmax(1, ROUND_NS / fmax(ns, 1)), LAUNCHES_MOST);

out:
    free(output.values);
    free(wanted.values);
    return status;
}

static enum status time_all(struct lesson_result *result, struct ready *ready,
                            const struct clockwork *clockwork)
{
    int steps[LESSON_VARIANTS], count = lesson_steps(result->lesson, steps);

    for (int i = 0; i < count; i++) {
        TRY(load_kernel(&ready[i], clockwork, result, steps[i]));
        TRY(check_kernel(&ready[i], clockwork, result, steps[i]));
    }
    for (int round = 0; round < LESSON_ROUNDS; round++)
        for (int i = 0; i < count; i++)
            TRY(time_launches(&ready[i], clockwork, ready[i].launches, &ready[i].ns[round]));
    for (int i = 0; i < count && result->verdict != LESSON_FAILED; i++)
        result->device_ns[steps[i]] = stats_median(ready[i].ns, LESSON_ROUNDS);

    return STATUS_OK;
}

void lesson_time(struct lesson_result *result, struct device *device)
{
    enum status status = STATUS_OK;
    struct clockwork clockwork = { .device = device };
    struct ready ready[LESSON_VARIANTS] = { { .kernel = NULL } };
    char reason[256];

    if (result->verdict == LESSON_FAILED)
        return;
    TRY_OUT(stream_create(device, &clockwork.stream));
    TRY_OUT(event_create(device, true, &clockwork.begin));
    TRY_OUT(event_create(device, true, &clockwork.end));
    TRY_OUT(time_all(result, ready, &clockwork));

out:
    snprintf(reason, sizeof reason, "%s", status != STATUS_OK ? status_last()->text : "");
    for (int v = 0; v < LESSON_VARIANTS; v++) {
        for (int i = 0; i < LESSON_ARGUMENTS; i++)
            (void)device_free(device, NULL, ALLOCATE_DIRECT, ready[v].memory[i]);
        device_ptx_free(ready[v].kernel);
    }
    event_destroy(clockwork.begin);
    event_destroy(clockwork.end);
    stream_destroy(clockwork.stream);
    if (status != STATUS_OK)
        snprintf(result->reason, sizeof result->reason, "not timed: %s", reason);
}
