/* Threads: one with a name, tasks on all cores, and a worker beside its owner. */
#pragma once

#include "harness/base/status.h"

#include <pthread.h>

/* Starts a thread of that name (at most 15 letters) with all signals blocked, so that the main
 * thread handles them. Returns 0 or an errno. */
int thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *argument);

/* --- Tasks that know nothing of each other, on all cores --- */

/* Runs `task` once for each number from 0 to count - 1, on as many threads as the program may use
 * cores, this one among them, and returns when all are done. They begin in that order.
 * errors[number] becomes the error of a task that failed, and else stays as it is. */
void tasks_run(int count, enum status (*task)(void *context, int number), void *context,
               struct status_error *errors);

/* --- A thread that works beside its owner, on one thing at a time --- */

struct worker;

/* `name`: at most 15 letters. NULL: no thread can be started. */
struct worker *worker_open(const char *name);

/* Waits for what was begun. NULL is allowed. */
void worker_close(struct worker *worker);

/* Lets the thread do `work`, which must be waited for before more is begun. The work sees all that
 * the owner wrote before, and the owner sees all that the work wrote once it has waited. */
void worker_begin(struct worker *worker, void (*work)(void *context), void *context);
void worker_wait(struct worker *worker);
