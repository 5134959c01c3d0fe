/* Tasks that know nothing of each other, on all cores. */
#ifndef HARNESS_BASE_SYSTEM_TASKS_H
#define HARNESS_BASE_SYSTEM_TASKS_H

#include "harness/base/status.h"

/* Runs `task` once for each number from 0 to count - 1, on as many threads as the program may use
 * cores, this one among them, and returns when all are done. They begin in that order.
 * errors[number] becomes the error of a task that failed, and else stays as it is. */
void tasks_run(int count, enum status (*task)(void *context, int number), void *context,
               struct status_error *errors);

#endif
