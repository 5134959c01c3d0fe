/* The thread fills the buffers of the next two windows while two are in use. It begins with the
 * second window, so that small traces do without, and so that a pipe which brings no trace is
 * refused before its next bytes come. A plain file needs no thread: its windows can be read side by
 * side, each by the thread in whose cache it has to be. */
#include "harness/desk/read/input/read_ahead.h"

#include "harness/base/system/thread.h"
#include "harness/desk/read/input/inflate_window.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { IN_USE = 2, BUFFERS = 2 * IN_USE };

struct buffer {
    char *bytes; /* [READ_AHEAD_EVEN + READ_AHEAD_PADDING] */
    size_t count;
    struct status_error error; /* STATUS_OK: it was filled */
};

struct read_ahead {
    struct inflate_window *window;
    struct buffer buffers[BUFFERS]; /* of a plain file the first IN_USE only */

    pthread_t thread;
    bool has_thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int64_t filled_count; /* windows that have been filled */
    int64_t wanted_count; /* that may be filled: the buffers of the others are in use */
    bool is_stopped;      /* the thread has to end */
};

/* --- Filling --- */

static void fill(struct read_ahead *ahead, int64_t number)
{
    struct buffer *buffer = &ahead->buffers[number % BUFFERS];

    buffer->error.status = STATUS_OK;
    if (inflate_window_read(ahead->window, buffer->bytes, read_ahead_bytes(number),
                            &buffer->count) == STATUS_OK)
        memset(buffer->bytes + buffer->count, 0, READ_AHEAD_PADDING);
    else
        buffer->error = *status_last();
}

static void *fill_when_wanted(void *argument)
{
    struct read_ahead *ahead = argument;

    pthread_mutex_lock(&ahead->mutex);
    while (!ahead->is_stopped) {
        if (ahead->filled_count == ahead->wanted_count) {
            pthread_cond_wait(&ahead->changed, &ahead->mutex);
            continue;
        }
        pthread_mutex_unlock(&ahead->mutex);
        fill(ahead, ahead->filled_count);
        pthread_mutex_lock(&ahead->mutex);
        ahead->filled_count++;
        pthread_cond_broadcast(&ahead->changed);
    }
    pthread_mutex_unlock(&ahead->mutex);
    return NULL;
}

/* Waits until the window is filled. Without a thread, the caller fills it. */
static void wait_for(struct read_ahead *ahead, int64_t number)
{
    pthread_mutex_lock(&ahead->mutex);
    if (!ahead->has_thread && number > 0)
        ahead->has_thread =
            thread_start(&ahead->thread, "read ahead", fill_when_wanted, ahead) == 0;
    if (ahead->wanted_count < number + 1 + IN_USE) {
        ahead->wanted_count = number + 1 + IN_USE;
        pthread_cond_broadcast(&ahead->changed);
    }
    while (ahead->filled_count <= number)
        if (ahead->has_thread)
            pthread_cond_wait(&ahead->changed, &ahead->mutex);
        else
            fill(ahead, ahead->filled_count++);
    pthread_mutex_unlock(&ahead->mutex);
}

/* --- The text --- */

enum status read_ahead_open(struct read_ahead **opened, const char *path)
{
    enum status status = STATUS_OK;
    struct read_ahead *ahead = calloc(1, sizeof *ahead);

    *opened = NULL;
    if (ahead == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory to read a file");
    pthread_mutex_init(&ahead->mutex, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    TRY_OUT(inflate_window_open(&ahead->window, path));
    for (int i = 0; i < BUFFERS; i++)
        if ((ahead->buffers[i].bytes = malloc(READ_AHEAD_EVEN + READ_AHEAD_PADDING)) == NULL)
            FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory to read a file");
    *opened = ahead;
    ahead = NULL;

out:
    read_ahead_close(ahead);
    return status;
}

void read_ahead_close(struct read_ahead *ahead)
{
    if (ahead == NULL)
        return;
    if (ahead->has_thread) {
        pthread_mutex_lock(&ahead->mutex);
        ahead->is_stopped = true;
        pthread_cond_broadcast(&ahead->changed);
        pthread_mutex_unlock(&ahead->mutex);
        pthread_join(ahead->thread, NULL);
    }
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->mutex);
    inflate_window_close(ahead->window);
    for (int i = 0; i < BUFFERS; i++) free(ahead->buffers[i].bytes);
    free(ahead);
}

static enum status read_plain(struct read_ahead *ahead, int64_t number, const char **bytes,
                              size_t *count)
{
    char *window = ahead->buffers[number % IN_USE].bytes;
    int64_t at = number / 2 * (READ_AHEAD_EVEN + READ_AHEAD_ODD) + number % 2 * READ_AHEAD_EVEN;

    TRY(inflate_window_read_at(ahead->window, at, window, read_ahead_bytes(number), count));
    memset(window + *count, 0, READ_AHEAD_PADDING);
    *bytes = window;

    return STATUS_OK;
}

enum status read_ahead_window(struct read_ahead *ahead, int64_t number, const char **bytes,
                              size_t *count)
{
    struct buffer *buffer = &ahead->buffers[number % BUFFERS];

    if (number > 0 && inflate_window_is_plain(ahead->window))
        return read_plain(ahead, number, bytes, count);
    wait_for(ahead, number);
    if (buffer->error.status != STATUS_OK)
        return status_raise(&buffer->error);
    *bytes = buffer->bytes;
    *count = buffer->count;
    return STATUS_OK;
}

const char *read_ahead_damage(const struct read_ahead *ahead)
{
    return inflate_window_damage(ahead->window);
}
