/* Files that are written whole or not at all: a reader never sees half of one. */
#ifndef HARNESS_BASE_ATOMIC_FILE_H
#define HARNESS_BASE_ATOMIC_FILE_H

#include "harness/base/status.h"

#include <limits.h>
#include <stddef.h>

/* Writes `text` to `path`: into a temporary file in the same folder, which is forced to disk and then
 * renamed to `path`. On failure (IO, with the reason and what to do) whatever was at `path` is
 * unchanged and the temporary file is gone. */
enum status atomic_file_write(const char *path, const char *text, size_t bytes);

/* The same for a writer that brings its bytes itself: `temporary` is a new file beside `path`, with the
 * permissions that open() gives, to be renamed to `path` or removed. */
enum status atomic_file_open(char temporary[PATH_MAX], int *descriptor, const char *path);

/* IO: "cannot write PATH: REASON", and what to do about this errno. */
enum status atomic_file_fail(const char *path, int error);

/* Creates a folder and its parents. One that is there already is fine. */
enum status folder_create(const char *path);

#endif
