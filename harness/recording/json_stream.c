/* JSON as it is written, through a buffer into a compressed file. Numbers are written digit by
 * digit: times need three decimals and nothing else of printf(). The first failure is kept in the
 * stream, and the writer looks at it once, at the end. */
#include "harness/recording/json_stream.h"

#include "harness/base/words/utf8.h"

#include <math.h>
#include <string.h>

void json_flush(struct json_stream *json)
{
    if (json->status == STATUS_OK && json->length > 0)
        json->status = gzip_file_write(json->file, json->bytes, json->length);
    json->length = 0;
}

static void put(struct json_stream *json, const char *bytes, size_t count)
{
    while (count > 0) {
        size_t room = sizeof json->bytes - json->length, piece = count < room ? count : room;
        memcpy(json->bytes + json->length, bytes, piece);
        json->length += piece;
        bytes += piece;
        count -= piece;
        if (json->length == sizeof json->bytes)
            json_flush(json);
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
