/* Functions of glibc that emscripten's C library lacks, for threads, processes and mappings. A page
 * has none of these, so the desk does without: it reads and judges with one thread if no other can
 * be started. Only WebAssembly is linked with this file. */
#include "harness/base/system/machine.h"

#include "harness/base/sort.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

/* --- Sorting --- */

static void swap(char *a, char *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char byte = a[i];
        a[i] = b[i];
        b[i] = byte;
    }
}

/* A heap whose greatest item is the first, but for the item `at`, which is moved down. */
static void sift(char *items, size_t at, size_t count, size_t size,
                 int (*compare)(const void *left, const void *right, void *context), void *context)
{
    for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count &&
            compare(items + child * size, items + (child + 1) * size, context) < 0)
            child++;
        if (compare(items + at * size, items + child * size, context) >= 0)
            return;
        swap(items + at * size, items + child * size, size);
        at = child;
    }
}

/* Heapsort, which needs no memory. Callers' orders leave no two items equal. */
void qsort_r(void *items, size_t count, size_t size,
             int (*compare)(const void *left, const void *right, void *context), void *context)
{
    for (size_t at = count / 2; at-- > 0;) sift(items, at, count, size, compare, context);
    for (size_t last = count; last-- > 1;) {
        swap(items, (char *)items + last * size, size);
        sift(items, 0, last, size, compare, context);
    }
}

/* --- One core --- */

int sched_getaffinity(pid_t process, size_t size, cpu_set_t *set)
{
    (void)process;
    memset(set, 0, size);
    errno = ENOSYS;
    return -1;
}

int sched_setaffinity(pid_t process, size_t size, const cpu_set_t *set)
{
    (void)process, (void)size, (void)set;
    errno = ENOSYS;
    return -1;
}

int __sched_cpucount(size_t size, const cpu_set_t *set)
{
    (void)size, (void)set;
    return 1;
}

int prctl(int option, ...)
{
    (void)option;
    errno = ENOSYS;
    return -1;
}

int pthread_setname_np(pthread_t thread, const char *name)
{
    (void)thread, (void)name;
    return ENOSYS;
}

/* --- Mappings --- */

/* Its own fails. All beyond the old one is zeros. */
void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
    void *moved = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)flags;

    if (moved == MAP_FAILED)
        return moved;
    memcpy(moved, old, old_bytes < bytes ? old_bytes : bytes);
    munmap(old, old_bytes);
    return moved;
}
