/* NumPy's files: a magic number, the length of a header, and the header as Python writes a dict:
 * {'descr': '<f4', 'fortran_order': False, 'shape': (64, 48), }. Only its three members are looked
 * for, and the file must have as many bytes as they say; more are not read. */
#include "harness/lab/kernel/input/npy.h"

#include "harness/base/system/files.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* bf16 has no name in NumPy, which keeps it as numbers of 16 bits. */
static const char *const descriptions[KERNEL_TYPE_COUNT] = {
    [KERNEL_F32] = "<f4", [KERNEL_F64] = "<f8", [KERNEL_I32] = "<i4", [KERNEL_U32] = "<u4",
    [KERNEL_I64] = "<i8", [KERNEL_U64] = "<u8", [KERNEL_I16] = "<i2", [KERNEL_U16] = "<u2",
    [KERNEL_I8] = "|i1",  [KERNEL_U8] = "|u1",  [KERNEL_F16] = "<f2", [KERNEL_BF16] = "<V2",
};

/* After "'name': " of the header; "" if it is not there. */
static const char *member(const char *header, const char *name)
{
    const char *at = strstr(header, name);

    at = at != NULL ? strchr(at, ':') : NULL;
    return at != NULL ? at + 1 + strspn(at + 1, " ") : "";
}

/* The innermost extent is the first of a texture. Whether all are numbers. */
static bool read_shape(struct kernel_argument *argument, const char *shape)
{
    int64_t count = 1;

    if (*shape++ != '(')
        return false;
    for (int i = 0; i < 3; i++) argument->size[i] = 1;
    while (*shape != ')') {
        char *end;
        long long extent = strtoll(shape, &end, 10);
        if (end == shape || extent < 1 || extent > NPY_MOST_BYTES ||
            (count *= extent) > NPY_MOST_BYTES)
            return false;
        argument->size[2] = argument->size[1];
        argument->size[1] = argument->size[0];
        argument->size[0] = (int)extent;
        shape = end + strspn(end, ", L");
    }
    argument->count = count;
    return true;
}

static enum status read_header(struct kernel_argument *argument, const char *header,
                               const char *path)
{
    const char *type = member(header, "'descr'");
    int t = 0;

    while (t < KERNEL_TYPE_COUNT &&
           (strncmp(type + (*type != '\0'), descriptions[t], 3) != 0 || type[4] != '\''))
        t++;
    if (strncmp(type, "'|b1'", 5) == 0)
        t = KERNEL_U8;
    if (t == KERNEL_TYPE_COUNT)
        FAIL(STATUS_BAD_INPUT, "%s has numbers of the type %.6s, which is not known", path, type);
    argument->type = (enum kernel_type)t;
    if (!read_shape(argument, member(header, "'shape'")))
        FAIL(STATUS_BAD_INPUT, "%s has no shape that is known, or more than %d bytes", path,
             NPY_MOST_BYTES);
    if (strncmp(member(header, "'fortran_order'"), "False", 5) != 0)
        FAIL(STATUS_BAD_INPUT, "%s has the order of Fortran: write numpy.ascontiguousarray(x)",
             path);
    return STATUS_OK;
}

static enum status read_bytes(int file, void *to, size_t bytes, const char *path)
{
    for (size_t at = 0; at < bytes;) {
        ssize_t got = read(file, (char *)to + at, bytes - at);
        if (got <= 0)
            FAIL(STATUS_BAD_INPUT, "%s ends before its numbers do", path);
        at += (size_t)got;
    }
    return STATUS_OK;
}

enum status npy_read(struct kernel_argument *argument, const char *path_text, size_t length)
{
    enum status status = STATUS_OK;
    unsigned char start[12];
    char path[4096], header[4096] = "";
    size_t bytes;
    int file;

    snprintf(path, sizeof path, "%.*s", (int)length, path_text);
    file = regular_file_open(AT_FDCWD, path);
    if (file < 0)
        FAIL(STATUS_BAD_INPUT, "%s cannot be read: %s", path,
             errno == ENOTSUP ? "it is no regular file" : strerror(errno));
    TRY_OUT(read_bytes(file, start, 10, path));
    if (memcmp(start, "\x93NUMPY", 6) != 0 || start[6] < 1 || start[6] > 3)
        FAIL_OUT(STATUS_BAD_INPUT, "%s is no file of NumPy", path);
    bytes = (size_t)start[8] | (size_t)start[9] << 8;
    if (start[6] > 1) {
        TRY_OUT(read_bytes(file, start + 10, 2, path));
        bytes |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    }
    if (bytes >= sizeof header)
        FAIL_OUT(STATUS_BAD_INPUT, "%s has a header of %zu bytes", path, bytes);
    TRY_OUT(read_bytes(file, header, bytes, path));
    TRY_OUT(read_header(argument, header, path));
    bytes = kernel_argument_bytes(argument);
    argument->pattern = KERNEL_FILE;
    argument->channels = 1;
    argument->data = malloc(bytes);
    if (argument->data == NULL || bytes > NPY_MOST_BYTES)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory for the %zu bytes of %s", bytes, path);
    TRY_OUT(read_bytes(file, argument->data, bytes, path));

out:
    if (status != STATUS_OK) {
        free(argument->data);
        argument->data = NULL;
    }
    close(file);
    return status;
}

/* The header is filled up with blanks, so that numbers begin at a multiple of 64. */
enum status npy_write(const struct kernel_argument *argument, const void *elements,
                      const char *path)
{
    char header[118 + 1];
    FILE *file = fopen(path, "wb");
    size_t bytes = kernel_argument_bytes(argument);
    bool whole;

    if (file == NULL)
        FAIL(STATUS_IO, "%s cannot be written: %s", path, strerror(errno));
    snprintf(header, sizeof header,
             "{'descr': '%s', 'fortran_order': False, 'shape': (%lld,), }%*s",
             descriptions[argument->type], (long long)argument->count, 118, "");
    header[117] = '\n';
    whole = fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file) == 10 &&
            fwrite(header, 1, 118, file) == 118 && fwrite(elements, 1, bytes, file) == bytes;
    whole = fclose(file) == 0 && whole;
    if (!whole)
        FAIL(STATUS_IO, "%s cannot be written", path);
    return STATUS_OK;
}

struct npy_difference npy_compare(const struct kernel_argument *argument, const void *elements,
                                  const struct kernel_argument *reference, double relative,
                                  double absolute)
{
    struct npy_difference found = { .first = -1 };

    for (int64_t i = 0; i < argument->count; i++) {
        double a = kernel_element(argument->type, elements, i),
               b = kernel_element(reference->type, reference->data, i), apart = fabs(a - b);
        if (a == b || (a != a && b != b) || (isfinite(b) && apart <= absolute + relative * fabs(b)))
            continue;
        if (found.count++ == 0)
            found.first = i;
        if (apart != apart || apart > found.most)
            found.most = apart;
    }
    return found;
}
