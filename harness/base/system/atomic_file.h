/* Files that are written whole or not at all: a reader never sees half of one. */
#pragma once

#include "harness/base/status.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Writes `text` to `path`: into a temporary file in the same folder, which is forced to disk and
 * then renamed to `path`, which must not be a folder, a device or the like. On failure (IO, with
 * the reason and what to do) whatever was at `path` is unchanged and the temporary file is gone. */
enum status atomic_file_write(const char *path, const char *text, size_t bytes);

/* Writes `text` as above and throws it away, to learn before hours of work whether that would
 * succeed. */
enum status atomic_file_try(const char *path, const char *text, size_t bytes);

/* A process that was killed leaves a file of its writer's path, '.', six letters and this. Whoever
 * writes to the path next removes it. */
#define ATOMIC_FILE_END ".chokepoint"

/* Whether `name` is that of a file which will become `path`'s last part, or of one that was
 * left. */
bool atomic_file_is_temporary(const char *name, const char *path);

/* The same for a writer that brings its bytes itself: `temporary` is a new file beside `path`, with
 * the permissions that open() gives. It ends with one of the two below, which also close
 * `descriptor`. */
enum status atomic_file_open(char temporary[PATH_MAX], int *descriptor, const char *path);
enum status atomic_file_finish(const char *temporary, const char *path, int descriptor);
void atomic_file_discard(const char *temporary, int descriptor);

/* Creates a folder and its parents. One that is there already is fine. */
enum status atomic_file_create_folder(const char *path);

/* Advice for this errno of a file that was to be written. */
const char *atomic_file_advice(int error);

/* IO, with the place of the caller, who has a `status` and an `out:` as for FAIL_OUT(). */
#define ATOMIC_FILE_FAIL(path, error)                                                              \
    FAIL_OUT(STATUS_IO, "cannot write %s: %s; %s", path, strerror(error), atomic_file_advice(error))
