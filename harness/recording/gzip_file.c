/* The file is written beside its name and renamed at the end, so whoever looks finds a whole trace
 * or none. zlib compresses as it is written. */
#include "harness/recording/gzip_file.h"

#include "harness/base/rows.h"
#include "harness/base/system/atomic_file.h"
#include "harness/base/words/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* The fastest level: event text shrinks about 15 times even so, and higher ones cost more time than
 * a short run takes. */
#define LEVEL "1"

enum { WINDOW_BYTES = 256 << 10 };

struct gzip_file {
    char path[PATH_MAX], temporary[PATH_MAX];
    int descriptor;
    /* has a descriptor of its own, so that the file can be forced to disk after it */
    gzFile stream;
};

enum status gzip_file_open(struct gzip_file **opened, const char *path)
{
    enum status status = STATUS_OK;
    struct gzip_file *file;
    int copy;

    *opened = NULL;
    TRY_OUT(rows_make(&file, 1));
    TRY_OUT(atomic_file_open(file->temporary, &file->descriptor, path));
    snprintf(file->path, sizeof file->path, "%s", path);
    copy = fcntl(file->descriptor, F_DUPFD_CLOEXEC, 0);
    file->stream = copy >= 0 ? gzdopen(copy, ends_in(path, ".gz") ? "wb" LEVEL : "wbT") : NULL;
    if (file->stream == NULL) {
        if (copy >= 0)
            close(copy);
        atomic_file_discard(file->temporary, file->descriptor);
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory to write the trace %s", path);
    }
    gzbuffer(file->stream, WINDOW_BYTES);
    *opened = file;
    file = NULL;

out:
    free(file);
    return status;
}

/* gzwrite() takes an unsigned count and returns an int: hence pieces of at most INT_MAX. */
enum status gzip_file_write(struct gzip_file *file, const char *bytes, size_t count)
{
    enum status status = STATUS_OK;

    while (count > 0) {
        unsigned piece = count < INT_MAX ? (unsigned)count : INT_MAX;
        int written = gzwrite(file->stream, bytes, piece);
        if (written <= 0)
            ATOMIC_FILE_FAIL(file->path, errno);
        bytes += written;
        count -= (size_t)written;
    }

out:
    return status;
}

enum status gzip_file_finish(struct gzip_file *file)
{
    enum status status = STATUS_OK;
    int error = gzclose(file->stream); /* frees it whatever happens */

    if (error != Z_OK) {
        error = error == Z_MEM_ERROR ? ENOMEM : errno;
        atomic_file_discard(file->temporary, file->descriptor);
        ATOMIC_FILE_FAIL(file->path, error);
    }
    TRY_OUT(atomic_file_finish(file->temporary, file->path, file->descriptor));

out:
    free(file);
    return status;
}

void gzip_file_abandon(struct gzip_file *file)
{
    if (file == NULL)
        return;
    gzclose(file->stream);
    atomic_file_discard(file->temporary, file->descriptor);
    free(file);
}
