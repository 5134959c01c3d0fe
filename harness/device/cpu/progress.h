/* A number that only grows, and threads that wait until it is large enough.
 *
 * It is how host and worker tell each other how far they are: items submitted, items done, an event's
 * records reached. A waiter spins for a while, because what it waits for is often a microsecond away,
 * and then sleeps on a futex. One thread at a time may advance it; any number may wait. */
#ifndef HARNESS_DEVICE_CPU_PROGRESS_H
#define HARNESS_DEVICE_CPU_PROGRESS_H

#include <stdatomic.h>
#include <stdint.h>

/* All zero to begin with. */
struct progress {
    _Atomic uint64_t value;
    _Atomic uint64_t wanted;   /* the nearest value a sleeper waits for; stale once it is reached */
    _Atomic uint32_t wakes;    /* the futex word: every wake bumps it */
    _Atomic uint32_t sleepers; /* threads that are asleep, or about to be */
};

uint64_t progress_value(struct progress *progress);

/* Everything the caller wrote before is visible to whoever sees `value`. Wakes nobody yet. */
void progress_set(struct progress *progress, uint64_t value);

/* Wakes sleepers, if any of them waits for no more than the value. After progress_set(). */
void progress_wake(struct progress *progress);

/* The doorbell: the same with one system call in any case. */
void progress_ring(struct progress *progress);

/* Returns when the value is at least `target`; spins for up to `spin_ns` before it sleeps. */
void progress_await(struct progress *progress, uint64_t target, int spin_ns);

#endif
