/* A thread that works beside its owner, on one thing at a time. */
#ifndef HARNESS_BASE_SYSTEM_WORKER_H
#define HARNESS_BASE_SYSTEM_WORKER_H

struct worker;

/* `name`: at most 15 letters. NULL: no thread can be started. */
struct worker *worker_open(const char *name);

/* Waits for what was begun. NULL is allowed. */
void worker_close(struct worker *worker);

/* Lets the thread do `work`, which must be waited for before more is begun. The work sees all that
 * the owner wrote before, and the owner sees all that the work wrote once it has waited. */
void worker_begin(struct worker *worker, void (*work)(void *context), void *context);
void worker_wait(struct worker *worker);

#endif
