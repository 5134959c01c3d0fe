/* Bytes are looked up in a table of the forms that the standard allows (Unicode, table 3-7), so
 * overlong forms and surrogates are refused like any other wrong byte. */
#include "harness/base/words/utf8.h"

#include "harness/base/status.h"

#include <limits.h>
#include <stdarg.h>
#include <string.h>

size_t utf8_bytes(const char *bytes)
{
    static const struct {
        unsigned char first_low, first_high, second_low, second_high;
        size_t bytes;
    } forms[] = {
        { 0x00, 0x7f, 0, 0, 1 },       { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
        { 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
        { 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
    };

    const unsigned char *text = (const unsigned char *)bytes;

    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        if (text[0] < forms[i].first_low || text[0] > forms[i].first_high)
            continue;
        if (forms[i].bytes > 1 && (text[1] < forms[i].second_low || text[1] > forms[i].second_high))
            return 0;
        for (size_t j = 2; j < forms[i].bytes; j++)
            if (text[j] < 0x80 || text[j] > 0xbf)
                return 0;
        return forms[i].bytes;
    }
    return 0;
}

size_t utf8_control_bytes(const char *bytes)
{
    static const struct {
        const char *first, *last; /* of as many bytes */
    } ranges[] = {
        { "\xc2\x80", "\xc2\x9f" },         { "\xd8\x9c", "\xd8\x9c" },
        { "\xe2\x80\x8e", "\xe2\x80\x8f" }, { "\xe2\x80\xaa", "\xe2\x80\xae" },
        { "\xe2\x81\xa6", "\xe2\x81\xa9" },
    };
    unsigned char first = (unsigned char)bytes[0];

    if (first < 0x20 || first == 0x7f)
        return first != '\0';
    for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
        size_t length = strlen(ranges[i].first);
        if (strncmp(bytes, ranges[i].first, length) >= 0 &&
            strncmp(bytes, ranges[i].last, length) <= 0)
            return length;
    }
    return 0;
}

void utf8_show(char *text)
{
    char *to = text;

    while (*text != '\0') {
        size_t control = utf8_control_bytes(text), bytes = control > 0 ? 0 : utf8_bytes(text);
        if (bytes == 0) {
            *to++ = '?';
            text += control > 0 ? control : 1;
            continue;
        }
        for (size_t i = 0; i < bytes; i++) *to++ = *text++;
    }
    *to = '\0';
}

void utf8_print(FILE *stream, const char *format, ...)
{
    char text[3 * PATH_MAX]; /* two paths and a sentence */
    va_list values;

    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    utf8_show(text);
    fprintf(stream, "%s\n", text);
}

size_t utf8_cut(const char *text, size_t most)
{
    size_t bytes = strnlen(text, most);

    while (bytes > 0 && (text[bytes] & 0xc0) == 0x80) bytes--;
    return bytes;
}
