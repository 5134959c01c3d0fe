/* A file written as a stream that is there as a whole or not at all, compressed where its name ends
 * in
 * ".gz". It grows under another name in the same folder and is renamed when it is done. */
#pragma once

#include "harness/base/status.h"

#include <stddef.h>

struct gzip_file;

/* IO when the folder is not there or may not be written to. */
enum status gzip_file_open(struct gzip_file **file, const char *path);

/* IO when the disk is full and the like: abandon the file then. */
enum status gzip_file_write(struct gzip_file *file, const char *bytes, size_t count);

/* Writes what is left and renames; on failure the file is gone. Frees `file` in any case. */
enum status gzip_file_finish(struct gzip_file *file);

/* Removes what was written. NULL is allowed. */
void gzip_file_abandon(struct gzip_file *file);
