/* Files that are no traces, but come from tools that are used beside a profiler. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A kind, by the signs that are given; one has all of them. */
struct foreign_file {
    const char *name, *instead; /* "a zip archive", "unpack it, ..." */
    const char *begin;          /* bytes, `at` bytes into the file */
    size_t at;
    const char *word;   /* somewhere in the first bytes */
    const char *ending; /* of the file's name */
    bool (*shape)(const char *bytes, size_t count);
};

extern const struct foreign_file foreign_files[]; /* one without a name ends them */

/* The first kind that matches, by the first bytes, inflated if need be, or the end of the name;
 * NULL: nothing that is known. docs/other-files.md lists them. */
const struct foreign_file *foreign_file(const char *bytes, size_t count, const char *path);

/* Whether a file that begins so is a pickle with the parts of a snapshot of PyTorch's memory. */
bool file_is_snapshot(const char *bytes, size_t count);
