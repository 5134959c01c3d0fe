/* Two buffers: the caller works on one while the thread fills the other. The thread begins with the second window, so
 * that small traces do without, and so that a pipe which brings no trace is refused before its next bytes come. */
#include "harness/desk/read/input/read_ahead.h"

#include "harness/base/thread.h"
#include "harness/desk/read/input/inflate_window.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW_BYTES = 256 << 10 };

struct buffer {
    char *bytes; /* [WINDOW_BYTES + READ_AHEAD_PADDING] */
    size_t count;
    struct status_error error; /* STATUS_OK: it was filled */
};

struct read_ahead {
    struct inflate_window *window;
    struct buffer buffers[2];
    int next; /* the buffer that the caller gets next */
    bool
        is_due; /* it has to be asked for when the caller comes for it, since there is no thread yet */

    pthread_t thread;
    bool has_thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_wanted;  /* the next buffer is not filled yet */
    bool is_stopped; /* the thread has to end */
};

static void fill_next(struct read_ahead *ahead)
{
    struct buffer *buffer = &ahead->buffers[ahead->next];

    buffer->error.status = STATUS_OK;
    if (inflate_window_read(ahead->window, buffer->bytes, WINDOW_BYTES, &buffer->count) ==
        STATUS_OK)
        memset(buffer->bytes + buffer->count, 0, READ_AHEAD_PADDING);
    else
        buffer->error = *status_last();
}

static void *fill_when_wanted(void *argument)
{
    struct read_ahead *ahead = argument;

    pthread_mutex_lock(&ahead->mutex);
    while (!ahead->is_stopped) {
        if (ahead->is_wanted) {
            pthread_mutex_unlock(&ahead->mutex);
            fill_next(ahead);
            pthread_mutex_lock(&ahead->mutex);
            ahead->is_wanted = false;
            pthread_cond_signal(&ahead->changed);
        } else {
            pthread_cond_wait(&ahead->changed, &ahead->mutex);
        }
    }
    pthread_mutex_unlock(&ahead->mutex);
    return NULL;
}

enum status read_ahead_open(struct read_ahead **opened, const char *path)
{
    enum status status = STATUS_OK;
    struct read_ahead *ahead = calloc(1, sizeof *ahead);

    *opened = NULL;
    if (ahead == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory to read a file");
    pthread_mutex_init(&ahead->mutex, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    ahead->is_wanted = true;
    TRY_OUT(inflate_window_open(&ahead->window, path));
    for (int i = 0; i < 2; i++)
        if ((ahead->buffers[i].bytes = malloc(WINDOW_BYTES + READ_AHEAD_PADDING)) == NULL)
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
        pthread_cond_signal(&ahead->changed);
        pthread_mutex_unlock(&ahead->mutex);
        pthread_join(ahead->thread, NULL);
    }
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->mutex);
    inflate_window_close(ahead->window);
    for (int i = 0; i < 2; i++) free(ahead->buffers[i].bytes);
    free(ahead);
}

/* Without a thread, the caller fills the buffer itself. */
static void wait_for_next(struct read_ahead *ahead)
{
    if (!ahead->has_thread) {
        if (ahead->is_wanted)
            fill_next(ahead);
        ahead->is_wanted = false;
        return;
    }
    pthread_mutex_lock(&ahead->mutex);
    while (ahead->is_wanted) pthread_cond_wait(&ahead->changed, &ahead->mutex);
    pthread_mutex_unlock(&ahead->mutex);
}

static void want_next(struct read_ahead *ahead)
{
    pthread_mutex_lock(&ahead->mutex);
    ahead->next = 1 - ahead->next;
    ahead->is_wanted = true;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->mutex);
    if (!ahead->has_thread)
        ahead->has_thread =
            thread_start(&ahead->thread, "read ahead", fill_when_wanted, ahead) == 0;
}

enum status read_ahead_peek(struct read_ahead *ahead, const char **bytes, size_t *count)
{
    struct buffer *buffer;

    if (ahead->is_due)
        want_next(ahead);
    ahead->is_due = false;
    wait_for_next(ahead);
    buffer = &ahead->buffers[ahead->next];
    if (buffer->error.status != STATUS_OK)
        return status_raise(&buffer->error);
    *bytes = buffer->bytes;
    *count = buffer->count;
    return STATUS_OK;
}

enum status read_ahead_next(struct read_ahead *ahead, const char **bytes, size_t *count)
{
    TRY(read_ahead_peek(ahead, bytes, count));
    if (*count < WINDOW_BYTES) /* it is the last */
        ahead->buffers[ahead->next].count = 0;
    else if (ahead->has_thread)
        want_next(ahead);
    else
        ahead->is_due = true;

    return STATUS_OK;
}

const char *read_ahead_damage(const struct read_ahead *ahead)
{
    return inflate_window_damage(ahead->window);
}
