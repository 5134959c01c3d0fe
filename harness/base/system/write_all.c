#include "harness/base/system/write_all.h"

#include <errno.h>
#include <unistd.h>

bool write_all(int descriptor, const void *bytes, size_t count)
{
    for (const char *next = bytes; count > 0;) {
        ssize_t written = write(descriptor, next, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written == 0) /* no error says so, and another call would do no better */
            errno = ENOSPC;
        if (written <= 0)
            return false;
        next += written;
        count -= (size_t)written;
    }
    return true;
}
