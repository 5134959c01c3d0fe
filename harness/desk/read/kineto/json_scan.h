/* Tokens of JSON text (RFC 8259), each checked as it is passed over.
 *
 * Functions get a place in the text and return the place behind what they found there, NULL if it
 * is no valid JSON. The text ends in '\0', which is no part of any token, so nothing else bounds
 * it; JSON_SCAN_PADDING bytes from that zero on are readable. */
#pragma once

#include <emmintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __SSE2__
#endif

enum { JSON_SCAN_PADDING = 16, JSON_SCAN_DEPTH = 64 /* of brackets */ };

static inline bool json_is_blank(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

static inline const char *json_scan_blanks(const char *at)
{
    /* Mostly there is none, one, or a line's indentation. */
    if (*at > ' ')
        return at;
    if (*at == ' ' && at[1] > ' ')
        return at + 1;
#ifdef __SSE2__
    for (;; at += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i space = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(' '));
        __m128i line = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n'));
        __m128i tab = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\t'));
        __m128i end = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\r'));
        int blank =
            _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(space, line), _mm_or_si128(tab, end)));
        if (blank != 0xffff)
            return at + __builtin_ctz(~(unsigned)blank);
    }
#else
    while (json_is_blank(*at)) at++;
    return at;
#endif
}

/* The first byte that is not plain within a string: a quote, a backslash, a control, one beyond
 * ASCII. */
static inline const char *json_scan_plain(const char *at)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
    const __m128i space = _mm_set1_epi8(' ');
    int found;

    for (;;
         at += 16) { /* bytes compare as signed, so those beyond ASCII are less than a space too */
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i special =
            _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash));
        found = _mm_movemask_epi8(_mm_or_si128(special, _mm_cmplt_epi8(bytes, space)));
        if (found != 0)
            return at + __builtin_ctz((unsigned)found);
    }
#else
    while ((unsigned char)(*at - ' ') < 0x80 - ' ' && *at != '"' && *at != '\\') at++;
    return at;
#endif
}

/* As json_scan_string(), for strings that are not plain. */
const char *json_scan_any_string(const char *at, bool *escaped);

/* From behind the opening quote to behind the closing one. *escaped: there is a backslash in it. */
static inline const char *json_scan_string(const char *at, bool *escaped)
{
    const char *end = json_scan_plain(at);

    *escaped = false;
    return *end == '"' ? end + 1 : json_scan_any_string(end, escaped);
}

/* Writes the string's text, from behind its opening quote on; it needs no more room than as it is
 * written. Returns its length. The string is valid. */
size_t json_scan_unescape(const char *at, char *text);

const char *json_scan_number(const char *at);

/* true, false, null. */
const char *json_scan_word(const char *at);

/* Any value, at `depth` brackets. NaN and infinities, which some writers put there, pass for
 * one. */
const char *json_scan_value(const char *at, int depth);

/* --- Exact numbers --- */

/* A time that went through a double would lose nanoseconds. */

/* Microseconds as nanoseconds, rounded to the nearest, halves away from zero. False: `text` is no
 * number of JSON, or beyond 2^62 ns (146 years). */
bool decimal_us_to_ns(const char *text, size_t length, int64_t *ns);

/* A whole number. False: it has a fraction, or does not fit. */
bool decimal_integer(const char *text, size_t length, int64_t *value);
