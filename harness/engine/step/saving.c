/* Saving the training state: in the step, which waits for every copy and for the write, or beside
 * it.
 *
 * state.h says what the state is. Tensors are copied to the host one after the other and written to
 * one file. In the user's folder it is written aside, forced to disk and renamed, so the last state
 * is whole at any moment, however the program ends. Without a folder it is written over the last
 * save, in a scratch file.
 *
 * Asynchronously, the copies to pinned memory are queued behind the step's work, so they hold the
 * state right after the step, and the writer thread waits for them and writes. There is one buffer:
 * a save waits for the write of the save before. An error of the writer is returned by the next
 * save or pause, or at the end of the timed window. */
#include "harness/base/rows.h"
#include "harness/engine/step/parts/scratch_file.h"
#include "harness/engine/step/state.h"
#include "harness/engine/step/training_parts.h"

#include "harness/base/clock.h"
#include "harness/base/system/atomic_file.h"
#include "harness/base/system/files.h"
#include "harness/base/system/thread.h"
#include "harness/engine/settings/knobs.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct saving {
    bool asynchronous;
    char path[PATH_MAX]; /* in the user's folder; "": none */
    int file;            /* without a name; -1: none */
    char *state;         /* host memory, pinned where asynchronous, [bytes] */
    size_t bytes;
    char settings[KNOBS_TEXT];
    struct dataset_identity data;
    int64_t steps;        /* of the last state that was copied; -1: none */
    struct event *copied; /* the rest: where asynchronous */
    pthread_t writer;
    bool has_writer;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    bool is_written_next; /* the buffer is the writer's until it has written it */
    bool is_ending;
    struct status_error error; /* of the writer */
};

/* In the user's folder. */
static enum status replace_state(const struct saving *saving)
{
    enum status status = STATUS_OK;
    char temporary[PATH_MAX];
    int file;

    TRY_OUT(atomic_file_open(temporary, &file, saving->path));
    if (!write_all(file, saving->state, saving->bytes)) {
        int error = errno;
        atomic_file_discard(temporary, file);
        ATOMIC_FILE_FAIL(saving->path, error);
    }
    TRY_OUT(atomic_file_finish(temporary, saving->path, file));

out:
    return status;
}

/* Writes the state after `steps` steps, once it is in host memory. */
static enum status write_state(const struct saving *saving, int64_t steps)
{
    state_seal(saving->state, saving->bytes, saving->settings, &saving->data, steps);
    if (saving->path[0] != '\0')
        return replace_state(saving);
    if (lseek(saving->file, 0, SEEK_SET) != 0 ||
        !write_all(saving->file, saving->state, saving->bytes))
        FAIL(STATUS_IO,
             "%zu bytes of training state cannot be written in %s: %s; make room there, set TMPDIR "
             "to another folder, or save_every=never",
             saving->bytes, scratch_folder(), strerror(errno));

    return STATUS_OK;
}

/* --- The writer thread --- */

/* The buffer belongs to this thread from the moment it is told to write until it says that it
 * has. */
static void *write_states(void *argument)
{
    struct saving *saving = argument;
    enum status status = STATUS_OK;
    int64_t steps;

    pthread_mutex_lock(&saving->mutex);
    for (;;) {
        while (!saving->is_written_next && !saving->is_ending)
            pthread_cond_wait(&saving->changed, &saving->mutex);
        if (!saving->is_written_next)
            break;
        steps = saving->steps;
        pthread_mutex_unlock(&saving->mutex);
        status = event_synchronize(saving->copied);
        if (status == STATUS_OK)
            status = write_state(saving, steps);
        pthread_mutex_lock(&saving->mutex);
        if (status != STATUS_OK)
            saving->error = *status_last();
        saving->is_written_next = false;
        pthread_cond_broadcast(&saving->changed);
    }
    pthread_mutex_unlock(&saving->mutex);
    return NULL;
}

/* Waits until the last state is written. Returns the writer's error, and again on every later
 * call. */
static enum status wait_for_writer(struct saving *saving)
{
    struct status_error error;

    pthread_mutex_lock(&saving->mutex);
    while (saving->is_written_next) pthread_cond_wait(&saving->changed, &saving->mutex);
    error = saving->error;
    pthread_mutex_unlock(&saving->mutex);
    return error.status != STATUS_OK ? status_raise(&error) : STATUS_OK;
}

/* With the flag set and read under the mutex, the writer sees the buffer as it was filled. */
static void signal_writer(struct saving *saving, bool *flag)
{
    pthread_mutex_lock(&saving->mutex);
    *flag = true;
    pthread_cond_broadcast(&saving->changed);
    pthread_mutex_unlock(&saving->mutex);
}

/* --- The row --- */

/* Without a folder and without save_every there is nothing to open, and every other function
 * finds NULL. */
static enum status open_saving(struct training *training)
{
    const struct saving_config *config = &training->config.saving;
    struct saving *saving;
    int error;

    if (config->save_every == 0 && config->folder[0] == '\0')
        return STATUS_OK;
    TRY(rows_make(&saving, 1));
    training->saving = saving;
    pthread_mutex_init(&saving->mutex, NULL);
    pthread_cond_init(&saving->changed, NULL);
    saving->file = -1;
    saving->asynchronous = config->mode == SAVING_ASYNCHRONOUS;
    saving->bytes = state_bytes(training);
    saving->data = dataset_identity(training->dataset);
    saving->steps = -1;
    TRY(knobs_print(&training->config, saving->settings, sizeof saving->settings));
    TRY(host_alloc(training->device, saving->asynchronous, saving->bytes, (void **)&saving->state));
    if (config->folder[0] != '\0')
        TRY(state_path(saving->path, config->folder));
    else
        TRY(scratch_file_open(&saving->file, "the training state", "save_every=never"));
    if (saving->asynchronous) {
        TRY(event_create(training->device, false, &saving->copied));
        error = thread_start(&saving->writer, "saving", write_states, saving);
        if (error != 0)
            FAIL(STATUS_REFUSED,
                 "the thread that writes the training state cannot be started: %s; "
                 "set save_mode=blocking or save_every=never",
                 strerror(error));
        saving->has_writer = true;
    }

    return STATUS_OK;
}

/* The state after `steps` steps, which are queued. */
static enum status save_after(struct training *training, int64_t steps)
{
    struct saving *saving = training->saving;

    TRY(wait_for_writer(saving));
    TRY(state_copy(training, saving->state, !saving->asynchronous));
    saving->steps = steps;
    if (saving->asynchronous) {
        TRY(event_record(saving->copied, training->compute));
        signal_writer(saving, &saving->is_written_next);
    } else {
        TRY(write_state(saving, steps));
    }

    return STATUS_OK;
}

static enum status save(struct training *training)
{
    int64_t begin_ns = clock_ns();

    TRY(save_after(training, training->steps + 1));
    training->saves++;
    training->save_ns += clock_ns() - begin_ns;

    return STATUS_OK;
}

enum status training_save(struct training *training)
{
    struct saving *saving = training->saving;

    if (saving == NULL || saving->path[0] == '\0')
        return STATUS_OK;
    if (saving->steps != training->steps)
        TRY(save_after(training, training->steps));
    return wait_for_writer(saving);
}

static enum status pause_saving(struct training *training)
{
    return training->saving != NULL ? wait_for_writer(training->saving) : STATUS_OK;
}

static void close_saving(struct training *training)
{
    struct saving *saving = training->saving;

    if (saving == NULL)
        return;
    if (saving->has_writer) {
        signal_writer(saving, &saving->is_ending);
        pthread_join(saving->writer, NULL);
    }
    event_destroy(saving->copied);
    if (saving->file >= 0)
        close(saving->file);
    if (saving->state != NULL)
        host_free(training->device, saving->asynchronous, saving->state);
    pthread_cond_destroy(&saving->changed);
    pthread_mutex_destroy(&saving->mutex);
    free(saving);
}

const struct periodic periodic_saving = {
    .phase = "save",
    .every = offsetof(struct training_config, saving.save_every),
    .open = open_saving,
    .run = save,
    .pause = pause_saving,
    .close = close_saving,
};
