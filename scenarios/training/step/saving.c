/* Saving the training state as most loops do: in the step, which waits until it is written.
 *
 * The state is what training needs to go on: every parameter's master weights and moments, and the
 * optimizer's own state, in this order. They are copied to the host one tensor after the other and
 * written to one file, over the last save. The file has no name, so nothing stays behind when the
 * program ends, however it ends; it is in $TMPDIR, else in /var/tmp, which is a disk even where /tmp
 * is memory. */
#include "scenarios/training/step/training_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct saving {
    int file;    /* -1: none */
    char *state; /* pageable host memory, [bytes] */
    size_t bytes;
};

static const char *folder(void)
{
    const char *named = getenv("TMPDIR");

    return named != NULL && named[0] != '\0' ? named : "/var/tmp";
}

static size_t state_bytes(const struct encoder *encoder)
{
    size_t bytes = sizeof(struct step_state);

    for (int i = 0; i < encoder->parameter_count; i++)
        bytes += 3 * (size_t)encoder->parameters[i].value->elements * sizeof(float);
    return bytes;
}

static enum status open_file(int *file)
{
    enum status status = STATUS_OK;
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/chokepoint-state-XXXXXX", folder());
    *file = mkostemp(path, O_CLOEXEC);
    if (*file >= 0)
        unlink(path);
    else
        FAIL(STATUS_IO,
             "no file for the training state can be made in %s: %s; set TMPDIR to a "
             "folder that can be written to, or save_every=never",
             folder(), strerror(errno));

out:
    return status;
}

static enum status open_saving(struct training *training)
{
    enum status status = STATUS_OK;
    struct saving *saving;

    if (training->config.saving.save_every == 0)
        return STATUS_OK;
    saving = calloc(1, sizeof *saving);
    if (saving == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for saving the training state");
    training->saving = saving;
    saving->file = -1;
    saving->bytes = state_bytes(training->encoder);
    TRY(host_alloc(training->device, false, saving->bytes, (void **)&saving->state));
    TRY(open_file(&saving->file));

out:
    return status;
}

static enum status copy_state(struct training *training)
{
    const struct encoder *encoder = training->encoder;
    char *to = training->saving->state;
    enum status status = STATUS_OK;

    for (int i = 0; i < encoder->parameter_count; i++) {
        struct moments moments = optimizer_moments(training->optimizer, i);
        const float *from[] = { encoder->parameters[i].master, moments.m, moments.v };
        size_t bytes = (size_t)encoder->parameters[i].value->elements * sizeof(float);

        for (size_t j = 0; j < ARRAY_SIZE(from); j++, to += bytes)
            TRY(device_copy(training->compute, COPY_DEVICE_TO_HOST, to, from[j], bytes));
    }
    TRY(device_copy(training->compute, COPY_DEVICE_TO_HOST, to,
                    optimizer_state(training->optimizer), sizeof(struct step_state)));

out:
    return status;
}

static enum status write_state(const struct saving *saving)
{
    enum status status = STATUS_OK;

    for (size_t done = 0; done < saving->bytes;) {
        ssize_t written =
            pwrite(saving->file, saving->state + done, saving->bytes - done, (off_t)done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            FAIL(STATUS_IO,
                 "%zu bytes of training state cannot be written in %s: %s; make room "
                 "there, set TMPDIR to another folder, or save_every=never",
                 saving->bytes, folder(), strerror(errno));
        done += (size_t)written;
    }

out:
    return status;
}

static enum status save(struct training *training)
{
    enum status status = STATUS_OK;

    TRY(copy_state(training));
    TRY(write_state(training->saving));

out:
    return status;
}

static void close_saving(struct training *training)
{
    struct saving *saving = training->saving;

    if (saving == NULL)
        return;
    if (saving->file >= 0)
        close(saving->file);
    if (saving->state != NULL)
        host_free(training->device, false, saving->state);
    free(saving);
}

const struct periodic periodic_saving = {
    .phase = "save",
    .every = offsetof(struct training_config, saving.save_every),
    .open = open_saving,
    .run = save,
    .close = close_saving,
};
