/* A counter that one thread advances and others wait for. The protocol: a sleeper announces itself
 * (sleepers, wanted), looks at the value once more, and sleeps while the futex word is what it was
 * before the announcement. A thread that advances the value stores it first and looks for sleepers
 * second. All four accesses are sequentially consistent, so one of the two sees the other, and a
 * wake between look and sleep changes the futex word.
 *
 * `wanted` spares the worker a system call per item while a host sleeps until the last of many.
 *
 * A spinning thread does not offer its core (sched_yield): where another thread has work, the
 * scheduler gives that one a slice of milliseconds for it, and a step waits as long. A thread that
 * spins without success soon sleeps, and a sleeper is woken ahead of others. */
#include "harness/device/cpu/queue/cpu_progress.h"

#include "harness/base/clock.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAUSES_PER_CLOCK_READ = 16 };

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

uint64_t cpu_progress_value(struct cpu_progress *progress)
{
    return atomic_load_explicit(&progress->value, memory_order_acquire);
}

void cpu_progress_set(struct cpu_progress *progress, uint64_t value)
{
    atomic_store(&progress->value, value);
}

void cpu_progress_ring(struct cpu_progress *progress)
{
    atomic_fetch_add(&progress->wakes, 1);
    syscall(SYS_futex, &progress->wakes, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void cpu_progress_wake(struct cpu_progress *progress)
{
    if (atomic_load(&progress->sleepers) != 0 &&
        atomic_load(&progress->wanted) <= atomic_load(&progress->value))
        cpu_progress_ring(progress);
}

static int spin(struct cpu_progress *progress, uint64_t target, int spin_ns)
{
    int64_t until = clock_ns() + spin_ns;

    do {
        for (int i = 0; i < PAUSES_PER_CLOCK_READ; i++) {
            if (cpu_progress_value(progress) >= target)
                return 1;
            pause_briefly();
        }
    } while (clock_ns() < until);
    return 0;
}

/* Leaves `wanted` at the nearest value that a sleeper waits for. A sleeper that finds a nearer one
 * there is woken with that one's owner, and comes back. One that puts its own in the place of a
 * value just reached wakes the others itself: the thread that advanced the value looks only now,
 * and would no longer find that somebody slept until it. */
static void want(struct cpu_progress *progress, uint64_t target)
{
    uint64_t wanted = atomic_load(&progress->wanted);
    bool reached;

    do {
        reached = wanted <= atomic_load(&progress->value);
        if (wanted <= target && !reached)
            return;
    } while (!atomic_compare_exchange_weak(&progress->wanted, &wanted, target));
    if (reached && atomic_load(&progress->sleepers) > 1)
        cpu_progress_ring(progress);
}

void cpu_progress_await(struct cpu_progress *progress, uint64_t target, int spin_ns)
{
    if (cpu_progress_value(progress) >= target)
        return;
    if (spin_ns > 0 && spin(progress, target, spin_ns))
        return;
    atomic_fetch_add(&progress->sleepers, 1);
    for (;;) {
        uint32_t wakes = atomic_load(&progress->wakes);
        want(progress, target);
        if (atomic_load(&progress->value) >= target)
            break;
        syscall(SYS_futex, &progress->wakes, FUTEX_WAIT_PRIVATE, wakes, NULL, NULL, 0);
    }
    atomic_fetch_sub(&progress->sleepers, 1);
}
