/* An entry is a folder that is filled under another name by the holder of a lock, forced to disk
 * and renamed, so it is whole or not there. A note in it of how many bytes its files have shows
 * later whether something was taken away. */
#include "harness/engine/data/images/cache_folder.h"

#include "harness/base/system/files.h"
#include "harness/base/words/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define UNFINISHED   ".unfinished" /* the ending of an entry's name until it is whole */
#define BYTES        ".bytes"      /* in an entry: how many its files have */
#define LONGEST_NAME 255

#define IN_USE_SECONDS 3600 /* longer than a run leaves its sets alone */

/* Leaves room in PATH_MAX for an entry, a class folder and a file. */
#define LONGEST_CACHE (PATH_MAX - 4 * LONGEST_NAME)

enum status cache_folder_path(char path[PATH_MAX])
{
    const char *own = getenv("CHOKEPOINT_CACHE"), *xdg = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    int length;

    if (own != NULL && own[0] != '\0')
        length = snprintf(path, PATH_MAX, "%s", own);
    else if (xdg != NULL && xdg[0] == '/') /* Relative ones are to be ignored, says XDG. */
        length = snprintf(path, PATH_MAX, "%s/chokepoint", xdg);
    else if (home != NULL && home[0] != '\0')
        length = snprintf(path, PATH_MAX, "%s/.cache/chokepoint", home);
    else
        FAIL(STATUS_IO,
             "no folder for generated and resized images: neither HOME nor XDG_CACHE_HOME is set; "
             "set CHOKEPOINT_CACHE to a folder that can be written");
    if (length >= LONGEST_CACHE)
        FAIL(STATUS_IO,
             "the cache folder's path has %d characters, %.100s...; set CHOKEPOINT_CACHE "
             "to a shorter one",
             length, path);

    return STATUS_OK;
}

/* One that is there already is fine, but a file in its place is not. */
static enum status make_folder(const char *path)
{
    struct stat info;
    int error = mkdir(path, 0777) != 0 ? errno : 0;

    if (error == EEXIST)
        error = stat(path, &info) != 0 ? errno : S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
    if (error != 0)
        FAIL(STATUS_IO,
             "the cache folder %.300s cannot be made: %s; set CHOKEPOINT_CACHE to a folder "
             "that can be written",
             path, strerror(error));

    return STATUS_OK;
}

static enum status make_folders(const char *path)
{
    char parent[PATH_MAX];

    for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        struct stat info;

        snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
        if (stat(parent, &info) != 0) /* mkdir may say read-only of a folder that is there. */
            TRY(make_folder(parent));
    }
    return make_folder(path);
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info;
    (void)type;
    (void)walk;
    return remove(path);
}

static enum status remove_folder(const char *path)
{
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT)
        FAIL(STATUS_IO,
             "%.300s cannot be removed: %s; remove it, or set CHOKEPOINT_CACHE to another "
             "folder",
             path, strerror(errno));

    return STATUS_OK;
}

/* Removes the unfinished entries of processes that were killed. Only the holder of the lock may
 * call it. */
static enum status remove_unfinished(const char *cache)
{
    enum status status = STATUS_OK;
    char path[PATH_MAX];
    DIR *stream = opendir(cache);

    if (stream == NULL)
        FAIL_OUT(STATUS_IO,
                 "the cache folder %.300s cannot be read: %s; set CHOKEPOINT_CACHE to another",
                 cache, strerror(errno));
    for (struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        if (!ends_in(entry->d_name, UNFINISHED))
            continue;
        snprintf(path, sizeof path, "%s/%s", cache, entry->d_name);
        TRY_OUT(remove_folder(path));
    }

out:
    if (stream != NULL)
        closedir(stream);
    return status;
}

/* --- Whether an entry is as it was made --- */

/* Bytes of the files in a folder and in those below it, but for names with a dot at the
 * beginning. */
static int64_t bytes_in(int parent, const char *name)
{
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = folder >= 0 ? fdopendir(folder) : NULL;
    int64_t bytes = 0;

    if (stream == NULL) {
        if (folder >= 0)
            close(folder);
        return -1;
    }
    for (struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        struct stat info;
        if (entry->d_name[0] == '.' || fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW))
            continue;
        bytes += S_ISDIR(info.st_mode) ? bytes_in(folder, entry->d_name) : info.st_size;
    }
    closedir(stream);
    return bytes;
}

/* The last file of an entry, so that one without it is not whole. */
static enum status note_bytes(const char *folder)
{
    char path[PATH_MAX];
    FILE *file;
    bool written;

    snprintf(path, sizeof path, "%s/" BYTES, folder);
    file = fopen(path, "wxe");
    written = file != NULL && fprintf(file, "%lld\n", (long long)bytes_in(AT_FDCWD, folder)) > 0;
    if ((file != NULL && fclose(file) != 0) || !written)
        FAIL(STATUS_IO,
             "%.300s cannot be written: %s; set CHOKEPOINT_CACHE to a folder on another disk", path,
             strerror(errno));

    return STATUS_OK;
}

/* A disk that was full, or a cleaner of temporary folders, may have left files short, or taken
 * some. */
static bool is_whole(const struct cache_entry *entry, const char *folder)
{
    char path[PATH_MAX];
    long long bytes = -1;
    FILE *file;

    if (snprintf(path, sizeof path, "%s/" BYTES, folder) >= (int)sizeof path)
        return false;
    file = fopen(path, "re");
    if (file == NULL)
        return false;
    if (fscanf(file, "%lld", &bytes) != 1)
        bytes = -1;
    fclose(file);
    return bytes >= 0 && bytes_in(AT_FDCWD, folder) == bytes &&
           entry->is_whole(entry->context, folder);
}

/* Opens the file that processes lock, which takes a folder that can be written. */
static enum status open_lock(int *lock, const char *cache)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/lock", cache);
    *lock = own_file_open(AT_FDCWD, path, O_RDWR);
    if (*lock < 0)
        FAIL(STATUS_IO,
             "%.300s cannot be written: %s; set CHOKEPOINT_CACHE to a folder that can be "
             "written",
             path, strerror(errno));

    return STATUS_OK;
}

/* --- Making room --- */

/* The entry of the family that was used last longest ago, and how many there are. */
static int find_oldest(const char *cache, const struct cache_entry *entry, char oldest[PATH_MAX],
                       struct timespec *used)
{
    int count = 0;
    DIR *stream = opendir(cache);

    if (stream == NULL)
        return 0;
    for (struct dirent *found = readdir(stream); found != NULL; found = readdir(stream)) {
        char path[PATH_MAX];
        struct stat info;

        if (strncmp(found->d_name, entry->family, strlen(entry->family)) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", cache, found->d_name);
        if (stat(path, &info) != 0)
            continue;
        if (count++ == 0 || info.st_mtim.tv_sec < used->tv_sec) {
            snprintf(oldest, PATH_MAX, "%s", path);
            *used = info.st_mtim;
        }
    }
    closedir(stream);
    return count;
}

/* Fills the entry under another name and renames it. Before that the files are forced to disk:
 * otherwise a power cut could leave a complete folder of empty files. */
static enum status make_entry(const char *cache, const char *path, const struct cache_entry *entry,
                              int lock)
{
    enum status status = STATUS_OK;
    char unfinished[PATH_MAX], oldest[PATH_MAX];
    struct timespec used = { 0 };
    bool is_begun = false;

    snprintf(unfinished, sizeof unfinished, "%s/%s" UNFINISHED, cache, entry->name);
    TRY_OUT(remove_unfinished(cache));
    while (entry->family != NULL && find_oldest(cache, entry, oldest, &used) >= entry->most &&
           used.tv_sec < time(NULL) - IN_USE_SECONDS)
        TRY_OUT(remove_folder(oldest));
    TRY_OUT(make_folder(unfinished));
    is_begun = true;
    TRY_OUT(entry->fill(entry->context, unfinished));
    TRY_OUT(note_bytes(unfinished));
    if (syncfs(lock) != 0)
        FAIL_OUT(STATUS_IO,
                 "%.300s cannot be written to disk: %s; set CHOKEPOINT_CACHE to a folder on "
                 "another disk",
                 unfinished, strerror(errno));
    TRY_OUT(remove_folder(path)); /* It is there when it has lost files. */
    if (rename(unfinished, path) != 0)
        FAIL_OUT(STATUS_IO, "%.300s cannot be renamed: %s; set CHOKEPOINT_CACHE to another folder",
                 unfinished, strerror(errno));

out:
    if (status != STATUS_OK && is_begun) {
        struct status_error error = *status_last();
        remove_folder(unfinished);
        status_raise(&error);
    }
    return status;
}

enum status cache_folder_find(char path[PATH_MAX], const struct cache_entry *entry, bool *found)
{
    char cache[PATH_MAX];

    *found = false;
    TRY(cache_folder_path(cache));
    snprintf(path, PATH_MAX, "%.*s/%s", LONGEST_CACHE, cache, entry->name);
    *found = is_whole(entry, path);
    /* The time of the folder is that of its last use. In a cache that is read-only, nothing is
     * removed. */
    if (*found && entry->family != NULL)
        (void)utimensat(AT_FDCWD, path, NULL, 0);

    return STATUS_OK;
}

enum status cache_folder_try(const struct cache_entry *entry)
{
    enum status status = STATUS_OK;
    char path[PATH_MAX], cache[PATH_MAX];
    bool found;
    int lock = -1;

    TRY_OUT(cache_folder_find(path, entry, &found));
    if (found)
        goto out;
    TRY_OUT(cache_folder_path(cache));
    TRY_OUT(make_folders(cache));
    TRY_OUT(open_lock(&lock, cache));

out:
    if (lock >= 0)
        close(lock);
    return status;
}

enum status cache_folder_get(char path[PATH_MAX], const struct cache_entry *entry)
{
    enum status status = STATUS_OK;
    char cache[PATH_MAX];
    bool found;
    int lock = -1;

    TRY_OUT(cache_folder_find(path, entry, &found));
    if (found)
        goto out;
    TRY_OUT(cache_folder_path(cache));
    TRY_OUT(make_folders(cache));
    TRY_OUT(open_lock(&lock, cache));
    if (flock(lock, LOCK_EX) != 0) { /* waits until no other process makes entries */
        if (errno == EINTR)
            FAIL_OUT(STATUS_INTERRUPTED, "interrupted while another process writes to %.300s",
                     cache);
        FAIL_OUT(STATUS_IO,
                 "%.300s/lock cannot be locked: %s; set CHOKEPOINT_CACHE to a folder on a local "
                 "disk",
                 cache, strerror(errno));
    }
    if (!is_whole(entry, path)) /* Another process may have made it meanwhile. */
        TRY_OUT(make_entry(cache, path, entry, lock));

out:
    if (lock >= 0)
        close(lock);
    return status;
}

uint32_t cache_folder_count_files(const char *folder)
{
    uint32_t count = 0;
    DIR *stream = opendir(folder);

    if (stream == NULL)
        return 0;
    for (struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream))
        count += entry->d_name[0] != '.';
    closedir(stream);
    return count;
}
