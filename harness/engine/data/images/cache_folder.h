/* The cache folder: data that is generated once and kept between runs.
 *
 * It is $CHOKEPOINT_CACHE, else $XDG_CACHE_HOME/chokepoint, else ~/.cache/chokepoint. An entry is a
 * folder that is filled under another name and renamed when it is complete, so no process ever sees
 * half of one. Processes that make entries take turns with a lock, which the kernel releases when
 * its holder dies; the next one removes what the dead one left. Reading an existing entry takes no
 * lock and needs no permission to write, so a cache folder may be shared and read-only. */
#pragma once

#include "harness/base/status.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct cache_entry {
    const char *name; /* a plain file name, with a version of what it holds */
    void *context;
    bool (*is_whole)(void *context, const char *folder);    /* must not change anything */
    enum status (*fill)(void *context, const char *folder); /* into an empty folder */
    /* Among the entries whose names begin so, `most` are kept when one is made: the ones unused for
     * longest go, but none that was used within the last hour, since another process may be reading
     * it. */
    const char *family; /* NULL: all are kept */
    int most;
};

/* The path of the cache folder, which may not exist yet. IO when no variable names one. */
enum status cache_folder_path(char path[PATH_MAX]);

/* To learn before anything runs that the entry is there, or can be made: makes the cache folder if
 * it is missing. IO as above, or when the entry is not there and the folder cannot be made or
 * written. */
enum status cache_folder_try(const struct cache_entry *entry);

/* The path that the entry has, and whether it is there and whole. IO when no variable names a
 * cache. */
enum status cache_folder_find(char path[PATH_MAX], const struct cache_entry *entry, bool *found);

/* The path of the entry, which is made first if it is missing, or has lost files or bytes. Errors:
 * IO names the path and says what to do; INTERRUPTED when a signal handler ran while this waited
 * for another process that makes entries; and the errors of fill. */
enum status cache_folder_get(char path[PATH_MAX], const struct cache_entry *entry);

/* Files in a folder whose names do not begin with a dot; 0 where it cannot be read. */
uint32_t cache_folder_count_files(const char *folder);
