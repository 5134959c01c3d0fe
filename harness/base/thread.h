#ifndef HARNESS_BASE_THREAD_H
#define HARNESS_BASE_THREAD_H

#include <pthread.h>

/* Starts a thread of that name (at most 15 letters) with all signals blocked, so that the main
 * thread handles them. Returns 0 or an errno. */
int thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *argument);

#endif
