#include "harness/base/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a user can do about an error of the file system. */
static const char *advice(int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        return "free some space or choose another folder with --out";
    case EACCES:
    case EPERM:
    case EROFS:
        return "choose a folder that you may write to with --out";
    case ENOENT:
        return "the folder was removed meanwhile; choose one that stays with --out";
    case EFBIG:
        return "the limit on file sizes (ulimit -f) is too low for it";
    default:
        return "choose another folder with --out";
    }
}

static enum status write_all(int descriptor, const char *path, const char *text, size_t bytes)
{
    enum status status = STATUS_OK;

    while (bytes > 0) {
        ssize_t written = write(descriptor, text, bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            FAIL(STATUS_IO, "cannot write %s: %s; %s", path, strerror(errno), advice(errno));
        text += written;
        bytes -= (size_t)written;
    }

out:
    return status;
}

/* The permissions that open() would have given: mkstemp gives the owner's only. */
static mode_t default_mode(void)
{
    mode_t mask = umask(0);

    umask(mask);
    return 0666 & ~mask;
}

/* So that the new name survives a power cut too. Not every file system can: that is no error. */
static void sync_folder(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int descriptor;

    if (slash == NULL)
        snprintf(folder, sizeof folder, ".");
    else
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path + 1), path);
    descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        fsync(descriptor);
        close(descriptor);
    }
}

enum status atomic_file_write(const char *path, const char *text, size_t bytes)
{
    enum status status = STATUS_OK;
    char temporary[PATH_MAX];
    int descriptor = -1;
    bool there = false;

    if ((size_t)snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= sizeof temporary)
        FAIL(STATUS_BAD_USAGE, "the path %.60s... is too long; choose a shorter one", path);
    descriptor = mkostemp(temporary, O_CLOEXEC);
    if (descriptor < 0)
        FAIL(STATUS_IO, "cannot write %s: %s; %s", path, strerror(errno), advice(errno));
    there = true;
    TRY(write_all(descriptor, path, text, bytes));
    if (fchmod(descriptor, default_mode()) != 0 || fsync(descriptor) != 0)
        FAIL(STATUS_IO, "cannot write %s: %s; %s", path, strerror(errno), advice(errno));
    if (rename(temporary, path) != 0)
        FAIL(STATUS_IO, "cannot write %s: %s; %s", path, strerror(errno), advice(errno));
    there = false;
    sync_folder(path);

out:
    if (descriptor >= 0)
        close(descriptor);
    if (there)
        unlink(temporary);
    return status;
}

enum status folder_create(const char *path)
{
    enum status status = STATUS_OK;
    char part[PATH_MAX];
    struct stat there;

    if (path[0] == '\0' || (size_t)snprintf(part, sizeof part, "%s", path) >= sizeof part)
        FAIL(STATUS_BAD_USAGE, "\"%.60s\" cannot be a folder's name; give another with --out",
             path);
    for (char *end = part + 1; *end != '\0'; end++) {
        if (*end != '/')
            continue;
        *end = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            FAIL(STATUS_IO, "cannot create the folder %s: %s; %s", part, strerror(errno),
                 errno == ENOENT ? "choose another folder with --out" : advice(errno));
        *end = '/';
    }
    if (mkdir(part, 0777) != 0 && errno != EEXIST)
        FAIL(STATUS_IO, "cannot create the folder %s: %s; %s", part, strerror(errno),
             advice(errno));
    if (stat(part, &there) == 0 && !S_ISDIR(there.st_mode))
        FAIL(STATUS_IO, "%s is there already and is no folder; choose another with --out", part);

out:
    return status;
}
