/* Folders for files that are not kept. A process that was killed leaves its own, which the next one
 * that makes a folder of this name removes: a process locks its folder until it ends. */
#pragma once

#include "harness/base/status.h"

#include <limits.h>

struct scratch_folder {
    char path[PATH_MAX]; /* "": none */
    int lock;
};

/* Makes NAME-XXXXXX, for this user only, in TMPDIR or /tmp, after removing what killed processes
 * left there. IO, BAD_USAGE: TMPDIR is too long. */
enum status scratch_folder_make(struct scratch_folder *folder, const char *name);

/* The same in another folder than TMPDIR. */
enum status scratch_folder_make_in(struct scratch_folder *folder, const char *parent,
                                   const char *name);

/* Removes a folder with all that is in it. Links are removed, not followed. */
void folder_remove_all(const char *path);

/* Removes it with all that is in it. All zeros are allowed. */
void scratch_folder_remove(struct scratch_folder *folder);
