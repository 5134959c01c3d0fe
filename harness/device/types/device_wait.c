/* Tells a watcher whether the process waits for a device, and whether it makes progress. Two
 * counters, which a signal handler may read. */
#include "harness/device/types/device_wait.h"

#include <stdatomic.h>

/* Only counts: nothing else is ordered by them. */
static _Atomic int waiting;
static _Atomic int64_t progress;

void device_wait_begin(void)
{
    atomic_fetch_add_explicit(&waiting, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&progress, 1, memory_order_relaxed);
}

void device_wait_end(void)
{
    atomic_fetch_sub_explicit(&waiting, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&progress, 1, memory_order_relaxed);
}

int device_waits(void)
{
    return atomic_load_explicit(&waiting, memory_order_relaxed);
}

int64_t device_wait_progress(void)
{
    return atomic_load_explicit(&progress, memory_order_relaxed);
}
