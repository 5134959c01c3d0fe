/* Put before the C library (LD_PRELOAD), it makes the allocation number FAILING_MEMORY of the
 * process fail, and with "N+" that and all after it. At the end FAILING_MEMORY_COUNT, a file, has
 * how many there were. Programs that the process starts, as ptxas, have all their memory. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t bytes);

static atomic_long so_far, failing;
static int all_after, begun;

__attribute__((constructor)) static void begin(void)
{
    const char *given = getenv("FAILING_MEMORY");

    failing = given != NULL ? atol(given) : 0;
    all_after = given != NULL && strchr(given, '+') != NULL;
    begun = 1;
    unsetenv("LD_PRELOAD");
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAILING_MEMORY_COUNT");
    int file = path != NULL ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;

    begun = 0;
    if (file >= 0)
        dprintf(file, "%ld\n", so_far);
}

static int fails(void)
{
    long number = begun ? atomic_fetch_add(&so_far, 1) + 1 : 0;

    if (failing == 0 || number < failing || (number > failing && !all_after))
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t bytes)
{
    return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t bytes)
{
    return fails() ? NULL : __libc_realloc(block, bytes);
}

/* Arenas are mapped; files are not what is meant. */
void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t from)
{
    if ((flags & MAP_ANONYMOUS) != 0 && fails())
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, bytes, protection, flags, file, from);
}
