#include "harness/base/system/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Closes `file` and says why, if it is not what was wanted. */
static int checked(int file, nlink_t names_most)
{
    struct stat facts;
    int error = 0;

    if (file < 0)
        return -1;
    if (fstat(file, &facts) != 0)
        error = errno;
    else if (!S_ISREG(facts.st_mode))
        error = ENOTSUP;
    else if (facts.st_nlink > names_most)
        error = EMLINK;
    if (error == 0)
        return file;
    close(file);
    errno = error;
    return -1;
}

int own_file_open(int folder, const char *name, int flags)
{
    return checked(
        openat(folder, name, flags | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666), 1);
}

int regular_file_open(int folder, const char *name)
{
    return checked(openat(folder, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC), (nlink_t)-1);
}

bool is_regular_file(const char *path)
{
    struct stat facts;

    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

bool only_we_write(const char *path)
{
    struct stat facts;
    mode_t others = S_IWOTH;

    if (stat(path, &facts) != 0)
        return true;
    if (facts.st_gid != facts.st_uid)
        others |= S_IWGRP;
    return (facts.st_uid == geteuid() || facts.st_uid == 0) && (facts.st_mode & others) == 0;
}
