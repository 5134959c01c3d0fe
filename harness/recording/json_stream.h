/* JSON text as a stream into a file: pieces go to a buffer and from there to the file. Nothing is
 * checked for being well-formed; that is the caller's. The first error stays and everything after
 * it is ignored.
 *
 * The file is there as a whole or not at all, compressed if its name ends in ".gz". It grows under
 * another name in the same folder and is renamed when it is done. */
#pragma once

#include "harness/base/status.h"

#include <stdint.h>

struct json_stream;

/* IO if the folder is not there or may not be written to. */
enum status json_stream_open(struct json_stream **json, const char *path);

/* Writes what is left and renames; on a failure, of this call or of any piece before, the file is
 * gone. IO: the disk is full and the like. Frees `json` in any case. */
enum status json_stream_finish(struct json_stream *json);

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
