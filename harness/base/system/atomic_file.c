/* A new file beside the old one is written, forced to disk and renamed. Its writer holds a lock on
 * it until it ends, so a file that can be locked was left by a writer that was killed, and goes. */
#include "harness/base/system/atomic_file.h"

#include "harness/base/system/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

const char *atomic_file_advice(int error)
{
    static const struct {
        int error;
        const char *advice;
    } rows[] = {
        { ENOSPC, "free some space or choose another folder" },
        { EDQUOT, "free some space or choose another folder" },
        { EACCES, "choose a folder that you may write to" },
        { EPERM, "choose a folder that you may write to" },
        { EROFS, "choose a folder that you may write to" },
        { ENOENT, "create the folder or choose another" },
        { ENOTDIR, "a part of this path is a file; choose another folder" },
        { ELOOP, "it is a link, which is not followed: remove it or choose another folder" },
        { EMLINK, "it has a second name, a hard link: remove it or choose another folder" },
        { ENOTSUP, "it is not a regular file: remove it or choose another folder" },
        { EMFILE, "raise the limit of open files (ulimit -n)" },
        { EFBIG, "the limit on file sizes (ulimit -f) is too low for it" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (rows[i].error == error)
            return rows[i].advice;
    return "choose another folder";
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static int open_folder(const char *path)
{
    char folder[PATH_MAX] = ".";

    if (last_part(path) > path)
        snprintf(folder, sizeof folder, "%.*s", (int)(last_part(path) - path), path);
    return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

enum { LETTERS = 6 };

bool atomic_file_is_temporary(const char *name, const char *path)
{
    const char *last = last_part(path);
    size_t length = strlen(last);

    return strncmp(name, last, length) == 0 && name[length] == '.' &&
           strlen(name) == length + 1 + LETTERS + strlen(ATOMIC_FILE_END) &&
           strcmp(name + length + 1 + LETTERS, ATOMIC_FILE_END) == 0;
}

/* A writer holds a lock on its temporary file until it ends, so what can be locked was left. */
static void remove_left(int folder, const char *name)
{
    int descriptor = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

    if (descriptor < 0)
        return;
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        unlinkat(folder, name, 0);
    close(descriptor);
}

/* Removes what killed writers of `path` left beside it. */
static void remove_left_files(const char *path)
{
    int folder = open_folder(path);
    DIR *stream = folder >= 0 ? fdopendir(folder) : NULL;

    if (stream == NULL) {
        if (folder >= 0)
            close(folder);
        return;
    }
    for (struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream))
        if (atomic_file_is_temporary(entry->d_name, path))
            remove_left(folder, entry->d_name);
    closedir(stream);
}

/* A new file beside `path`, with the permissions that open() gives, of which mkostemps() would give
 * the owner's only. */
static int open_new(char temporary[PATH_MAX], const char *path)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    unsigned char random[LETTERS];
    char name[LETTERS + 1] = "";
    int descriptor;

    do {
        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
            return -1;
        for (int i = 0; i < LETTERS; i++) name[i] = letters[random[i] % (sizeof letters - 1)];
        snprintf(temporary, PATH_MAX, "%s.%s" ATOMIC_FILE_END, path, name);
        descriptor = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (descriptor < 0 && errno == EEXIST);
    return descriptor;
}

/* A new file that is locked, as remove_left() wants it; -1 and errno. One that was swept away
 * before it was locked is made again. A file system without locks sweeps nothing. */
static int open_temporary(char temporary[PATH_MAX], const char *path)
{
    struct stat facts = { .st_nlink = 1 };
    int descriptor;

    for (;;) {
        descriptor = open_new(temporary, path);
        if (descriptor < 0)
            return -1;
        while (flock(descriptor, LOCK_EX) != 0 && errno == EINTR) continue;
        if (fstat(descriptor, &facts) != 0 || facts.st_nlink > 0)
            return descriptor;
        close(descriptor);
    }
}

enum status atomic_file_open(char temporary[PATH_MAX], int *descriptor, const char *path)
{
    enum status status = STATUS_OK;
    struct stat there;

    /* Renaming would replace a device such as /dev/null. */
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode))
        FAIL_OUT(STATUS_IO, "cannot write %s: it exists and is not a file; choose another name",
                 path);
    if (strlen(path) + 1 + LETTERS + sizeof ATOMIC_FILE_END > PATH_MAX)
        FAIL_OUT(STATUS_BAD_USAGE, "the path %.60s... is too long; choose a shorter one", path);
    remove_left_files(path);
    *descriptor = open_temporary(temporary, path);
    if (*descriptor < 0)
        ATOMIC_FILE_FAIL(path, errno);

out:
    return status;
}

enum status atomic_file_finish(const char *temporary, const char *path, int descriptor)
{
    enum status status = STATUS_OK;
    int folder;

    if (fsync(descriptor) != 0 || rename(temporary, path) != 0) {
        int error = errno;
        atomic_file_discard(temporary, descriptor);
        ATOMIC_FILE_FAIL(path, error);
    }
    close(descriptor);
    /* So that the new name survives a power cut too. Not every file system can, and that is not an
     * error. */
    folder = open_folder(path);
    if (folder >= 0) {
        fsync(folder);
        close(folder);
    }

out:
    return status;
}

void atomic_file_discard(const char *temporary, int descriptor)
{
    close(descriptor);
    unlink(temporary);
}

/* A temporary file that holds the text. */
static enum status write_temporary(char temporary[PATH_MAX], int *descriptor, const char *path,
                                   const char *text, size_t bytes)
{
    enum status status = STATUS_OK;

    TRY_OUT(atomic_file_open(temporary, descriptor, path));
    if (!write_all(*descriptor, text, bytes)) {
        int error = errno;
        atomic_file_discard(temporary, *descriptor);
        ATOMIC_FILE_FAIL(path, error);
    }

out:
    return status;
}

enum status atomic_file_write(const char *path, const char *text, size_t bytes)
{
    char temporary[PATH_MAX];
    int descriptor;

    TRY(write_temporary(temporary, &descriptor, path, text, bytes));
    return atomic_file_finish(temporary, path, descriptor);
}

enum status atomic_file_try(const char *path, const char *text, size_t bytes)
{
    char temporary[PATH_MAX];
    int descriptor;

    TRY(write_temporary(temporary, &descriptor, path, text, bytes));
    atomic_file_discard(temporary, descriptor);

    return STATUS_OK;
}

/* ENOENT cannot be helped by creating a folder here. */
static enum status create_one(const char *path)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        FAIL(STATUS_IO, "cannot create the folder %s: %s; %s", path, strerror(errno),
             errno == ENOENT ? "choose another folder" : atomic_file_advice(errno));

    return STATUS_OK;
}

enum status atomic_file_create_folder(const char *path)
{
    char part[PATH_MAX];
    struct stat there;

    if (path[0] == '\0' || (size_t)snprintf(part, sizeof part, "%s", path) >= sizeof part)
        FAIL(STATUS_BAD_USAGE, "\"%.60s\" cannot be a folder's name; choose another folder", path);
    for (char *end = part + 1; *end != '\0'; end++) {
        if (*end != '/')
            continue;
        *end = '\0';
        TRY(create_one(part));
        *end = '/';
    }
    TRY(create_one(part));
    if (stat(part, &there) == 0 && !S_ISDIR(there.st_mode))
        FAIL(STATUS_IO, "%s exists and is not a folder; choose another folder", part);

    return STATUS_OK;
}
