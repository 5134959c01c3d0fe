/* JSON text as a stream: pieces go to a buffer and from there to the file. Nothing is checked for
 * being well-formed; that is the caller's. The first error stays and everything after it is
 * ignored. */
#pragma once

#include "harness/recording/gzip_file.h"

#include <stdint.h>

enum { JSON_STREAM_BYTES = 128 << 10 };

struct json_stream {
    struct gzip_file *file;
    enum status status;
    size_t length;
    char bytes[JSON_STREAM_BYTES];
};

void json_put(struct json_stream *json, const char *text); /* as it is */
void json_put_integer(struct json_stream *json, int64_t value);
void json_put_unsigned(struct json_stream *json, uint64_t value);

/* Nanoseconds as microseconds with three decimals, exactly: 1234567 is 1234.567. */
void json_put_us(struct json_stream *json, int64_t value_ns);

/* With six decimals. Values that are not finite, or beyond 1e12, become 0. */
void json_put_fraction(struct json_stream *json, double value);

/* In quotes, escaped. Bytes that are not UTF-8 become U+FFFD, so that strict readers accept the
 * file. */
void json_put_string(struct json_stream *json, const char *text);

/* Hands what is buffered to the file. */
void json_flush(struct json_stream *json);
