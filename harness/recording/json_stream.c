/* JSON as it is written, through a buffer into a compressed file. Numbers are written digit by
 * digit: times need three decimals and nothing else of printf(), and a long trace has millions of
 * them. The first failure is kept in the stream, so that only the end has to look at it.
 *
 * zlib compresses what the buffer hands over. The file grows beside its name and is renamed at the
 * end (base/system/atomic_file.h), so whoever looks finds a whole trace or none. */
#include "harness/recording/json_stream.h"

#include "harness/base/rows.h"
#include "harness/base/system/atomic_file.h"
#include "harness/base/words/text.h"
#include "harness/base/words/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* The fastest level: event text shrinks about 15 times even so, and higher ones cost more time than
 * a short run takes. */
#define LEVEL "1"

enum { BUFFER_BYTES = 128 << 10, WINDOW_BYTES = 256 << 10 };

struct json_stream {
    char path[PATH_MAX], temporary[PATH_MAX];
    int descriptor;
    /* has a descriptor of its own, so that the file can be forced to disk after it */
    gzFile compressed;
    enum status status; /* the first failure */
    size_t length;
    char bytes[BUFFER_BYTES];
};

/* --- The file --- */

enum status json_stream_open(struct json_stream **opened, const char *path)
{
    enum status status = STATUS_OK;
    struct json_stream *json;
    int copy;

    *opened = NULL;
    TRY_OUT(rows_make(&json, 1));
    TRY_OUT(atomic_file_open(json->temporary, &json->descriptor, path));
    snprintf(json->path, sizeof json->path, "%s", path);
    copy = fcntl(json->descriptor, F_DUPFD_CLOEXEC, 0);
    json->compressed = copy >= 0 ? gzdopen(copy, ends_in(path, ".gz") ? "wb" LEVEL : "wbT") : NULL;
    if (json->compressed == NULL) {
        if (copy >= 0)
            close(copy);
        atomic_file_discard(json->temporary, json->descriptor);
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory to write the trace %s", path);
    }
    gzbuffer(json->compressed, WINDOW_BYTES);
    *opened = json;
    json = NULL;

out:
    free(json);
    return status;
}

static enum status write_buffer(struct json_stream *json)
{
    enum status status = STATUS_OK;

    if (gzwrite(json->compressed, json->bytes, (unsigned)json->length) != (int)json->length)
        ATOMIC_FILE_FAIL(json->path, errno);

out:
    return status;
}

/* After the first failure nothing is written any more. */
static void flush_buffer(struct json_stream *json)
{
    if (json->status == STATUS_OK && json->length > 0)
        json->status = write_buffer(json);
    json->length = 0;
}

enum status json_stream_finish(struct json_stream *json)
{
    enum status status = STATUS_OK;
    int error;

    flush_buffer(json);
    status = json->status;
    error = gzclose(json->compressed); /* frees it whatever happens */
    if (error != Z_OK)
        error = error == Z_MEM_ERROR ? ENOMEM : errno;
    if (status != STATUS_OK || error != 0)
        atomic_file_discard(json->temporary, json->descriptor);
    TRY_OUT(status);
    if (error != 0)
        ATOMIC_FILE_FAIL(json->path, error);
    TRY_OUT(atomic_file_finish(json->temporary, json->path, json->descriptor));

out:
    free(json);
    return status;
}

/* --- The text --- */

static void put(struct json_stream *json, const char *bytes, size_t count)
{
    while (count > 0) {
        size_t room = sizeof json->bytes - json->length, piece = count < room ? count : room;
        memcpy(json->bytes + json->length, bytes, piece);
        json->length += piece;
        bytes += piece;
        count -= piece;
        if (json->length == sizeof json->bytes)
            flush_buffer(json);
    }
}

void json_put(struct json_stream *json, const char *text)
{
    put(json, text, strlen(text));
}

/* At least `digits` digits, and a point before the last `decimals` of them. From the last digit to
 * the first, as division gives them; 24 bytes hold 20 digits of 64 bits and the point. */
static void put_digits(struct json_stream *json, uint64_t value, int digits, int decimals)
{
    char text[24];
    int at = sizeof text;

    for (int written = 0; value > 0 || written < digits; written++) {
        if (written == decimals && decimals > 0)
            text[--at] = '.';
        text[--at] = (char)('0' + value % 10);
        value /= 10;
    }
    put(json, text + at, sizeof text - (size_t)at);
}

void json_put_unsigned(struct json_stream *json, uint64_t value)
{
    put_digits(json, value, 1, 0);
}

/* Negated as unsigned: the least int64_t has no positive counterpart. */
static uint64_t put_sign(struct json_stream *json, int64_t value)
{
    if (value < 0)
        json_put(json, "-");
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

void json_put_integer(struct json_stream *json, int64_t value)
{
    put_digits(json, put_sign(json, value), 1, 0);
}

void json_put_us(struct json_stream *json, int64_t value_ns)
{
    put_digits(json, put_sign(json, value_ns), 4, 3);
}

void json_put_fraction(struct json_stream *json, double value)
{
    int64_t millionths = fabs(value) <= 1e12 ? (int64_t)round(value * 1e6) : 0;

    put_digits(json, put_sign(json, millionths), 7, 6);
}

static void put_control(struct json_stream *json, unsigned char byte)
{
    static const char hex[] = "0123456789abcdef";
    char text[7] = { '\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15], '\0' };

    json_put(json, text);
}

/* Bytes that are no UTF-8 are replaced one by one: a reader of JSON would refuse the whole file. */
void json_put_string(struct json_stream *json, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    put(json, "\"", 1);
    while (*at != '\0') {
        const unsigned char *plain = at;
        while (*at >= 0x20 && *at < 0x7f && *at != '"' && *at != '\\') at++;
        put(json, (const char *)plain, (size_t)(at - plain));
        if (*at == '"' || *at == '\\') {
            put(json, "\\", 1);
            put(json, (const char *)at++, 1);
        } else if (*at != '\0' && (*at < 0x20 || *at == 0x7f)) {
            put_control(json, *at++);
        } else if (*at >= 0x80) {
            size_t length = utf8_bytes((const char *)at);
            put(json, length > 0 ? (const char *)at : UTF8_REPLACEMENT, length > 0 ? length : 3);
            at += length > 0 ? length : 1;
        }
    }
    put(json, "\"", 1);
}
