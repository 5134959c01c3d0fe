/* The state is kept in device memory and restored before each run; what a run computes is reduced
 * to checksums on the device (tensor_sums.h), so that comparing costs little beside the step. */
#include "harness/engine/step/repeat.h"

#include "harness/base/rows.h"
#include "harness/engine/step/state.h"
#include "harness/engine/step/training_parts.h"

#include <stdlib.h>

struct repeat {
    struct training *training;
    struct tensor_sums *sums;
    char *state; /* device memory, as state_keep() filled it */
    int64_t first_step;
    int steps;
};

enum status repeat_open(struct repeat **opened, struct training *training, int steps)
{
    enum status status = STATUS_OK;
    const struct training_config *config = &training->config;
    struct repeat *repeat;
    struct tensor_difference none;
    void *memory;

    *opened = NULL;
    TRY_OUT(rows_make(&repeat, 1));
    repeat->training = training;
    repeat->steps = steps;
    repeat->first_step = training->steps;
    if (config->launch.mode == LAUNCH_GRAPH)
        FAIL_OUT(STATUS_REFUSED, "steps are not compared where they are graphs: use launch=eager");
    if (config->model.attention == ATTENTION_FUSED)
        FAIL_OUT(STATUS_REFUSED,
                 "a library's attention may differ from run to run: use attention=naive");
    TRY_OUT(device_alloc(training->device, NULL, ALLOCATE_DIRECT, state_bytes(training), &memory));
    repeat->state = memory;
    TRY_OUT(state_keep(training, repeat->state));
    TRY_OUT(tensor_sums_open(&repeat->sums, training->compute));
    /* One to count the sums, one to be the reference (tensor_sums.h). */
    for (int i = 0; i < 2; i++) TRY_OUT(repeat_run(repeat, &none));
    *opened = repeat;
    repeat = NULL;

out:
    if (status != STATUS_OK && repeat != NULL) {
        struct status_error error = *status_last();
        repeat_close(repeat);
        status_raise(&error);
    }
    return status;
}

void repeat_close(struct repeat *repeat)
{
    if (repeat == NULL)
        return;
    stream_synchronize(repeat->training->compute);
    tensor_sums_close(repeat->sums);
    device_free(repeat->training->device, NULL, ALLOCATE_DIRECT, repeat->state);
    free(repeat);
}

enum status repeat_run(struct repeat *repeat, struct tensor_difference *difference)
{
    enum status status = STATUS_OK;
    struct training *training = repeat->training;

    TRY_OUT(state_restore(training, repeat->state, repeat->first_step));
    /* The ring of losses is compared as a whole, so it begins as it did. */
    TRY_OUT(device_memset(training->compute, training_loss_ring(training), 0,
                          LOSS_RING * sizeof(float)));
    TRY_OUT(tensor_sums_begin(repeat->sums));
    TRY_OUT(optimizer_sum_parameters(training->optimizer, "going back to the first step",
                                     repeat->sums));
    training->sums = repeat->sums;
    TRY_OUT(training_run(training, repeat->steps));
    TRY_OUT(tensor_sums_compare(repeat->sums, difference));

out:
    training->sums = NULL;
    return status;
}

int repeat_tensors(const struct repeat *repeat)
{
    return tensor_sums_count(repeat->sums);
}
