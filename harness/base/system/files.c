/* A file is looked at once it is open and before it is used: a name may be that of a link, a FIFO
 * or a device by now, and open() itself would follow it or wait for it. */
#include "harness/base/system/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Closes `file` and says why, if it is not what was wanted. */
static int check_opened(int file, nlink_t names_most)
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
    return check_opened(
        openat(folder, name, flags | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666), 1);
}

bool own_file_is_there(int folder, const char *name, int file)
{
    struct stat ours, there;

    return fstat(file, &ours) == 0 && fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

int regular_file_open(int folder, const char *name)
{
    return check_opened(openat(folder, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC), (nlink_t)-1);
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

/* Names in a folder with the sticky bit, as in /tmp, are their owners' own. */
static bool only_we_rename_in(const char *folder)
{
    struct stat facts;

    return only_we_write(folder) ||
           (stat(folder, &facts) == 0 && facts.st_uid == 0 && (facts.st_mode & S_ISVTX) != 0);
}

bool only_we_replace(const char *path)
{
    char whole[PATH_MAX];

    if (!only_we_write(path))
        return false;
    if (realpath(path, whole) == NULL)
        return true;
    for (char *slash = strrchr(whole, '/'); slash != NULL; slash = strrchr(whole, '/')) {
        *slash = '\0';
        if (!only_we_rename_in(*whole == '\0' ? "/" : whole))
            return false;
    }
    return true;
}

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
