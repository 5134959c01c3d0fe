/* The log of a training: lines that are forced to disk, or posted to a service, by the loop or by a
 * thread beside it. A ring of lines under one mutex. Whoever writes, the loop or a thread, takes
 * all that are waiting at once, so a slow disk makes writes longer and not more. */
#include "harness/engine/step/parts/line_log.h"

#include "harness/base/rows.h"
#include "harness/base/system/files.h"
#include "harness/base/system/thread.h"
#include "harness/engine/step/parts/scratch_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 48 };

_Static_assert(LOG_LINES *LINE_BYTES < LOG_MESSAGE_BYTES, "a queue that is full is one message");

struct line {
    int64_t step;
    float loss;
};

struct line_log {
    int file;                  /* -1: none */
    struct log_server *server; /* NULL: lines are written here and forced to disk */
    bool has_writer;
    pthread_t writer;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    struct line lines[LOG_LINES]; /* a ring */
    int64_t added, written;
    bool is_ending;
    struct status_error error; /* with it the log has ended */
};

/* All lines in one write, and one fsync(). */
static enum status write_lines(struct line_log *log, const struct line *lines, int count)
{
    char text[LOG_LINES * LINE_BYTES];
    size_t bytes = 0;
    int error;

    for (int i = 0; i < count; i++)
        bytes += (size_t)snprintf(text + bytes, LINE_BYTES, "step %lld loss %.9g\n",
                                  (long long)lines[i].step, (double)lines[i].loss);
    if (log->server != NULL)
        error = log_server_send(log->server, text, bytes);
    else
        error = write_all(log->file, text, bytes) && fsync(log->file) == 0 ? 0 : errno;
    if (error != 0)
        FAIL(STATUS_IO,
             "the log in %s ends before step %lld: %s; make room there, set TMPDIR to another "
             "folder, or log=none",
             scratch_folder(), (long long)lines[0].step, strerror(error));

    return STATUS_OK;
}

/* --- The writer thread --- */

/* Writes the lines that are waiting. With the mutex held, but not while writing. */
static void write_waiting(struct line_log *log)
{
    struct line lines[LOG_LINES];
    int count = (int)(log->added - log->written);
    enum status status;

    for (int i = 0; i < count; i++) lines[i] = log->lines[(log->written + i) % LOG_LINES];
    pthread_mutex_unlock(&log->mutex);
    status = write_lines(log, lines, count);
    pthread_mutex_lock(&log->mutex);
    if (status != STATUS_OK) {
        log->error = *status_last();
        log->written = log->added;
    } else {
        log->written += count;
    }
    pthread_cond_broadcast(&log->changed);
}

static void *write_log(void *argument)
{
    struct line_log *log = argument;

    pthread_mutex_lock(&log->mutex);
    for (;;) {
        while (log->written == log->added && !log->is_ending)
            pthread_cond_wait(&log->changed, &log->mutex);
        if (log->written == log->added)
            break;
        write_waiting(log);
    }
    pthread_mutex_unlock(&log->mutex);
    return NULL;
}

/* --- The caller's side --- */

enum status line_log_open(struct line_log **opened, enum logging_mode mode)
{
    enum status status = STATUS_OK;
    struct line_log *log;
    int error;

    *opened = NULL;
    TRY_OUT(rows_make(&log, 1));
    pthread_mutex_init(&log->mutex, NULL);
    pthread_cond_init(&log->changed, NULL);
    log->file = -1;
    if (mode == LOGGING_SYNCED && scratch_is_in_memory())
        FAIL_OUT(STATUS_UNSUPPORTED,
                 "%s is in memory, so forcing a line to disk costs nothing there; set TMPDIR to a "
                 "folder on a disk",
                 scratch_folder());
    TRY_OUT(scratch_file_open(&log->file, "the log", "log=none"));
    if (logging_is_posted(mode))
        TRY_OUT(log_server_open(&log->server, log->file));
    error = logging_is_queued(mode) ? thread_start(&log->writer, "log", write_log, log) : 0;
    if (error != 0)
        FAIL_OUT(STATUS_REFUSED,
                 "the thread that writes the log cannot be started: %s; set log=synced or log=none",
                 strerror(error));
    log->has_writer = logging_is_queued(mode);
    *opened = log;
    log = NULL;

out:
    line_log_close(log);
    return status;
}

void line_log_close(struct line_log *log)
{
    if (log == NULL)
        return;
    if (log->has_writer) {
        pthread_mutex_lock(&log->mutex);
        log->is_ending = true;
        pthread_cond_broadcast(&log->changed);
        pthread_mutex_unlock(&log->mutex);
        pthread_join(log->writer, NULL);
    }
    log_server_close(log->server);
    if (log->file >= 0)
        close(log->file);
    pthread_cond_destroy(&log->changed);
    pthread_mutex_destroy(&log->mutex);
    free(log);
}

void line_log_add(struct line_log *log, int64_t step, float loss)
{
    struct line line = { step, loss };

    pthread_mutex_lock(&log->mutex);
    while (log->added - log->written == LOG_LINES) pthread_cond_wait(&log->changed, &log->mutex);
    if (log->error.status == STATUS_OK) {
        log->lines[log->added++ % LOG_LINES] = line;
        if (log->has_writer)
            pthread_cond_broadcast(&log->changed);
        else
            write_waiting(log);
    }
    pthread_mutex_unlock(&log->mutex);
}

enum status line_log_wait(struct line_log *log)
{
    struct status_error error;

    pthread_mutex_lock(&log->mutex);
    while (log->written < log->added) pthread_cond_wait(&log->changed, &log->mutex);
    error = log->error;
    pthread_mutex_unlock(&log->mutex);
    return error.status != STATUS_OK ? status_raise(&error) : STATUS_OK;
}
