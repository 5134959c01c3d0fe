/* Facts that the kernel states in small text files. `root` comes before /proc and /sys: "" is this
 * machine, a test gives a folder. A value that is too long for its buffer is cut. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* NULL when there is none. */
FILE *system_file_open(const char *root, const char *path);

/* The first line of a file without its end; false, and "", when there is none. */
bool system_file_line(const char *root, const char *path, char *line, size_t size);

/* The value of the first "key : value" or "key value" line of a file; false, and "", when there is
 * none. */
bool system_file_key(const char *root, const char *path, const char *key, char *value, size_t size);
