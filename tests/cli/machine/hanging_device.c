/* Loaded into chokepoint: once the file that HANG names is there, the main thread's next sleep
 * until the CPU device has done something, which is a futex, never returns. The file has a byte
 * from then on. */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void say_so(const char *file)
{
    int to = open(file, O_WRONLY | O_CLOEXEC);

    if (to < 0 || write(to, "1", 1) != 1 || close(to) != 0)
        abort();
}

__attribute__((visibility("default"))) long syscall(long number, ...)
{
    static long (*real)(long, ...);
    const char *file = getenv("HANG");
    long arguments[6];
    __builtin_va_list list;

    __builtin_va_start(list, number);
    for (int i = 0; i < 6; i++) arguments[i] = __builtin_va_arg(list, long);
    __builtin_va_end(list);
    while (number == SYS_futex && arguments[1] == FUTEX_WAIT_PRIVATE && file != NULL &&
           gettid() == getpid() && access(file, F_OK) == 0) {
        say_so(file);
        pause();
    }
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                arguments[5]);
}
