/* A folder belongs to the process that has it locked. Before a new one is made, those of the same
 * name that nobody has locked are removed. */
#include "harness/base/system/scratch_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LETTERS = 6 }; /* mkdtemp() fills in so many */

static int remove_one(const char *path, const struct stat *facts, int type, struct FTW *walk)
{
    (void)facts;
    (void)type;
    (void)walk;
    return remove(path);
}

void folder_remove_all(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Opens a folder of this user and locks it. -1 and errno: EWOULDBLOCK if it is in use, ENOENT if it
 * is gone. */
static int lock_folder(const char *path)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), error = 0;
    struct stat ours, there;

    if (folder < 0)
        return -1;
    if (fstat(folder, &ours) != 0 || ours.st_uid != geteuid())
        error = EPERM;
    else if (flock(folder, LOCK_EX | LOCK_NB) != 0)
        error = errno;
    else if (lstat(path, &there) != 0 || there.st_ino != ours.st_ino)
        error = ENOENT; /* swept away before it was locked */
    if (error == 0)
        return folder;
    close(folder);
    errno = error;
    return -1;
}

/* Only folders with a name of ours, mkdtemp()'s letters included, are touched, and only if
 * nobody has them locked. */
static void remove_left_folders(const char *parent, const char *name)
{
    size_t length = strlen(name);
    DIR *stream = opendir(parent);

    if (stream == NULL)
        return;
    for (struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        char path[PATH_MAX];
        int folder;
        if (strncmp(entry->d_name, name, length) != 0 || entry->d_name[length] != '-' ||
            strlen(entry->d_name) != length + 1 + LETTERS ||
            snprintf(path, sizeof path, "%s/%s", parent, entry->d_name) >= (int)sizeof path)
            continue;
        folder = lock_folder(path);
        if (folder < 0)
            continue;
        folder_remove_all(path);
        close(folder);
    }
    closedir(stream);
}

enum status scratch_folder_make(struct scratch_folder *folder, const char *name)
{
    const char *set = getenv("TMPDIR");

    return scratch_folder_make_in(folder, set != NULL && set[0] != '\0' ? set : "/tmp", name);
}

enum status scratch_folder_make_in(struct scratch_folder *folder, const char *parent,
                                   const char *name)
{
    char path[PATH_MAX];

    folder->path[0] = '\0';
    remove_left_folders(parent, name);
    do { /* again, if another process swept it away before it was locked */
        if ((size_t)snprintf(path, sizeof path, "%s/%s-XXXXXX", parent, name) >= sizeof path)
            FAIL(STATUS_BAD_USAGE, "TMPDIR=%.60s...: the path is too long", parent);
        if (mkdtemp(path) == NULL)
            FAIL(STATUS_IO, "cannot create a folder in %.200s: %s; TMPDIR names another one",
                 parent, strerror(errno));
        folder->lock = lock_folder(path);
    } while (folder->lock < 0 && (errno == ENOENT || errno == EWOULDBLOCK));
    memcpy(folder->path, path, sizeof path);

    return STATUS_OK;
}

void scratch_folder_remove(struct scratch_folder *folder)
{
    if (folder->path[0] == '\0')
        return;
    folder_remove_all(folder->path);
    if (folder->lock >= 0)
        close(folder->lock);
    folder->path[0] = '\0';
}
