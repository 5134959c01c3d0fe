/* Files without a name, for what a training writes and nobody reads. A file is unlinked as soon as
 * it is open: the kernel frees it with the process. */
#include "harness/engine/step/parts/scratch_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

const char *scratch_folder(void)
{
    const char *named = getenv("TMPDIR");

    return named != NULL && named[0] != '\0' ? named : "/var/tmp";
}

bool scratch_is_in_memory(void)
{
    struct statfs facts;

    return statfs(scratch_folder(), &facts) == 0 &&
           (facts.f_type == TMPFS_MAGIC || facts.f_type == RAMFS_MAGIC);
}

enum status scratch_file_open(int *file, const char *what, const char *without)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/chokepoint-scratch-XXXXXX", scratch_folder());
    *file = mkostemp(path, O_CLOEXEC);
    if (*file >= 0)
        unlink(path);
    else
        FAIL(STATUS_IO,
             "no file for %s can be made in %s: %s; set TMPDIR to a folder that can be written to, "
             "or %s",
             what, scratch_folder(), strerror(errno), without);

    return STATUS_OK;
}
