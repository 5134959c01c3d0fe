#include "harness/base/system/worker.h"

#include "harness/base/thread.h"

#include <stdbool.h>
#include <stdlib.h>

struct worker {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    void (*work)(void *context); /* NULL: there is none to do */
    void *context;
    bool is_closed;
};

static void *work_when_asked(void *argument)
{
    struct worker *worker = argument;

    pthread_mutex_lock(&worker->mutex);
    while (!worker->is_closed) {
        if (worker->work == NULL) {
            pthread_cond_wait(&worker->changed, &worker->mutex);
            continue;
        }
        pthread_mutex_unlock(&worker->mutex);
        worker->work(worker->context);
        pthread_mutex_lock(&worker->mutex);
        worker->work = NULL;
        pthread_cond_signal(&worker->changed);
    }
    pthread_mutex_unlock(&worker->mutex);
    return NULL;
}

static void release(struct worker *worker)
{
    pthread_cond_destroy(&worker->changed);
    pthread_mutex_destroy(&worker->mutex);
    free(worker);
}

struct worker *worker_open(const char *name)
{
    struct worker *worker = calloc(1, sizeof *worker);

    if (worker == NULL)
        return NULL;
    pthread_mutex_init(&worker->mutex, NULL);
    pthread_cond_init(&worker->changed, NULL);
    if (thread_start(&worker->thread, name, work_when_asked, worker) == 0)
        return worker;
    release(worker);
    return NULL;
}

void worker_close(struct worker *worker)
{
    if (worker == NULL)
        return;
    worker_wait(worker);
    pthread_mutex_lock(&worker->mutex);
    worker->is_closed = true;
    pthread_cond_signal(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
    pthread_join(worker->thread, NULL);
    release(worker);
}

void worker_begin(struct worker *worker, void (*work)(void *context), void *context)
{
    pthread_mutex_lock(&worker->mutex);
    worker->work = work;
    worker->context = context;
    pthread_cond_signal(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
}

void worker_wait(struct worker *worker)
{
    pthread_mutex_lock(&worker->mutex);
    while (worker->work != NULL) pthread_cond_wait(&worker->changed, &worker->mutex);
    pthread_mutex_unlock(&worker->mutex);
}
