/* The cache folder: what is made once and kept between runs.
 *
 * It is $CHOKEPOINT_CACHE, else $XDG_CACHE_HOME/chokepoint, else ~/.cache/chokepoint. An entry is a
 * folder that is filled under another name and renamed when it is whole, so nobody ever sees half of
 * one. Makers take turns by a lock, which the kernel drops when its holder dies; the next maker then
 * removes what the dead one left. Reading an entry that is there takes no lock and needs no right to
 * write: a cache folder may be shared and read-only. */
#ifndef SCENARIOS_TRAINING_DATA_CACHE_FOLDER_H
#define SCENARIOS_TRAINING_DATA_CACHE_FOLDER_H

#include "harness/base/status.h"

#include <limits.h>
#include <stdbool.h>

struct cache_entry {
    const char *name; /* a plain file name, with a version of what it holds */
    void *context;
    bool (*is_whole)(void *context, const char *folder);    /* must not change anything */
    enum status (*fill)(void *context, const char *folder); /* into an empty folder */
};

/* The path of the cache folder, which need not be there. IO when nothing names one. */
enum status cache_folder_path(char path[PATH_MAX]);

/* Gives the path of the entry, after making it if it is not there or has lost files. Errors: IO names
 * the path and says what to do; INTERRUPTED when a signal handler ran while waiting for another
 * process that makes entries; those of fill. */
enum status cache_folder_get(char path[PATH_MAX], const struct cache_entry *entry);

#endif
