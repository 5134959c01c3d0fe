/* Tasks are numbers that threads take from one counter. A worker sleeps until its owner gives it
 * something to do. */
#include "harness/base/system/thread.h"

#include "harness/base/system/machine.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

int thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *argument)
{
    sigset_t all, before;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0)
        pthread_setname_np(*thread, name);
    return error;
}

/* --- Tasks --- */

enum { THREADS_MAX = 256 };

struct tasks {
    int count;
    enum status (*task)(void *context, int number);
    void *context;
    struct status_error *errors;
    atomic_int next;
};

static void *run_some(void *argument)
{
    struct tasks *tasks = argument;

    for (int number; (number = atomic_fetch_add(&tasks->next, 1)) < tasks->count;)
        if (tasks->task(tasks->context, number) != STATUS_OK)
            tasks->errors[number] = *status_last();
    return NULL;
}

/* If a thread cannot be started, the others do its work. */
void tasks_run(int count, enum status (*task)(void *context, int number), void *context,
               struct status_error *errors)
{
    struct tasks tasks = { count, task, context, errors, 0 };
    pthread_t threads[THREADS_MAX];
    int cores = count > 1 ? machine_cores() : 1;
    int most = cores < count ? cores : count, started = 0;

    while (started < most - 1 && started < THREADS_MAX &&
           thread_start(&threads[started], "task", run_some, &tasks) == 0)
        started++;
    run_some(&tasks);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

/* --- A worker --- */

struct worker {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    void (*work)(void *context); /* NULL: there is none to do */
    void *context;
    bool is_closed;
};

/* The mutex is free while the work is done, so that its owner can wait or go on. */
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

static void worker_free(struct worker *worker)
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
    worker_free(worker);
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
    worker_free(worker);
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
