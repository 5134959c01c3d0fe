#include "harness/base/system/tasks.h"

#include "harness/base/system/machine.h"
#include "harness/base/thread.h"

#include <stdatomic.h>
#include <stddef.h>

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
