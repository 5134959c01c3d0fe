#include "harness/trace/record/gzip_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* The fastest level: event text shrinks about 15 times even so, and higher ones cost more time than a
 * short run takes. */
#define LEVEL "1"

enum { WINDOW_BYTES = 256 << 10 };

struct gzip_file {
    char path[PATH_MAX], temporary[PATH_MAX];
    gzFile stream;
};

static const char *advice(int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        return "free some space or choose another folder";
    case EFBIG:
        return "the limit on file sizes (ulimit -f) is too low for it";
    case ENOENT:
    case ENOTDIR:
        return "the folder must be there; create it or choose another";
    default:
        return "choose a folder that you may write to";
    }
}

static enum status fail_to_write(const struct gzip_file *file, int error)
{
    return status_fail(STATUS_IO, __FILE__, __LINE__, "cannot write the trace %s: %s; %s",
                       file->path, strerror(error), advice(error));
}

static bool is_compressed(const char *path)
{
    size_t length = strlen(path);

    return length >= 3 && strcmp(path + length - 3, ".gz") == 0;
}

/* mkostemp() makes a file for the owner only; others get what the mask allows, as open() would. */
static void share(int descriptor)
{
    mode_t mask = umask(0);

    umask(mask);
    fchmod(descriptor, 0666 & ~mask);
}

enum status gzip_file_open(struct gzip_file **opened, const char *path)
{
    enum status status = STATUS_OK;
    struct gzip_file *file = calloc(1, sizeof *file);
    int descriptor = -1;

    *opened = NULL;
    if (file == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory to write a trace");
    if ((size_t)snprintf(file->temporary, sizeof file->temporary, "%s.XXXXXX", path) >=
        sizeof file->temporary)
        FAIL(STATUS_BAD_USAGE, "the path %.60s... is too long; choose a shorter one", path);
    snprintf(file->path, sizeof file->path, "%s", path);
    descriptor = mkostemp(file->temporary, O_CLOEXEC);
    if (descriptor < 0) {
        status = fail_to_write(file, errno);
        goto out;
    }
    share(descriptor);
    file->stream = gzdopen(descriptor, is_compressed(path) ? "wb" LEVEL : "wbT");
    if (file->stream == NULL) {
        close(descriptor);
        unlink(file->temporary);
        FAIL(STATUS_OUT_OF_MEMORY, "no memory to write the trace %s", path);
    }
    gzbuffer(file->stream, WINDOW_BYTES);
    *opened = file;
    file = NULL;

out:
    free(file);
    return status;
}

enum status gzip_file_write(struct gzip_file *file, const char *bytes, size_t count)
{
    while (count > 0) {
        unsigned piece = count < INT_MAX ? (unsigned)count : INT_MAX;
        int written = gzwrite(file->stream, bytes, piece);
        if (written <= 0)
            return fail_to_write(file, errno);
        bytes += written;
        count -= (size_t)written;
    }
    return STATUS_OK;
}

enum status gzip_file_finish(struct gzip_file *file)
{
    enum status status = STATUS_OK;
    int error = gzclose(file->stream); /* frees it whatever happens */

    file->stream = NULL;
    if (error != Z_OK || rename(file->temporary, file->path) != 0)
        status = fail_to_write(file, error == Z_MEM_ERROR ? ENOMEM : errno);
    if (status != STATUS_OK)
        unlink(file->temporary);
    free(file);
    return status;
}

void gzip_file_abandon(struct gzip_file *file)
{
    if (file == NULL)
        return;
    gzclose(file->stream);
    unlink(file->temporary);
    free(file);
}
