/* A number that only grows, and threads that wait until it is large enough.
 *
 * It is how host and worker tell each other how far they are: items submitted, items done, an
 * event's records reached. A waiter spins for a while, because what it waits for is often a
 * microsecond away, and then sleeps on a futex. One thread at a time may advance it; any number may
 * wait. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

/* All zero to begin with. */
struct cpu_progress {
    _Atomic uint64_t value;
    _Atomic uint64_t wanted;   /* the nearest value a sleeper waits for; stale once it is reached */
    _Atomic uint32_t wakes;    /* the futex word: every wake bumps it */
    _Atomic uint32_t sleepers; /* threads that are asleep, or about to be */
};

uint64_t cpu_progress_value(struct cpu_progress *progress);

/* A thread that sees `value` sees everything that the caller wrote before. Wakes nobody yet. */
void cpu_progress_set(struct cpu_progress *progress, uint64_t value);

/* Wakes sleepers, if any of them waits for no more than the value. After cpu_progress_set(). */
void cpu_progress_wake(struct cpu_progress *progress);

/* The doorbell: wakes with one system call, whether anybody sleeps or not. */
void cpu_progress_ring(struct cpu_progress *progress);

/* Returns when the value is at least `target`; spins for up to `spin_ns` before it sleeps. */
void cpu_progress_await(struct cpu_progress *progress, uint64_t target, int spin_ns);
