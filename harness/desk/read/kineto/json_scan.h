/* Tokens of JSON text (RFC 8259), each checked as it is passed over.
 *
 * Functions get a place in the text and return the place behind what they found there, NULL if it
 * is no valid JSON. The text ends in '\0', which is no part of any token, so nothing else bounds
 * it; JSON_SCAN_PADDING bytes from that zero on are readable. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

enum { JSON_SCAN_PADDING = 16, JSON_SCAN_DEPTH = 64 /* of brackets */ };

/* 16 bytes at once, as vectors of gcc and clang. Comparing two makes -1 where they agree, else 0.
 */
typedef signed char json_bytes __attribute__((vector_size(16)));

static inline json_bytes json_bytes_at(const char *at)
{
    json_bytes bytes;

    memcpy(&bytes, at, sizeof bytes);
    return bytes;
}

#ifdef __ARM_NEON
enum { JSON_MASK_BITS = 4 };
#else
enum { JSON_MASK_BITS = 1 };
#endif
#define JSON_MASK_ALL (UINT64_MAX >> (64 - 16 * JSON_MASK_BITS))

/* JSON_MASK_BITS bits for each byte of such a comparison, the first byte's the lowest: set for -1.
 */
static inline uint64_t json_mask(json_bytes found)
{
#if defined(__SSE2__)
    return (unsigned)_mm_movemask_epi8((__m128i)found);
#elif defined(__ARM_NEON)
    return vget_lane_u64(
        vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_s8((int8x16_t)found), 4)), 0);
#else
    uint64_t mask = 0;
    for (int i = 0; i < 16; i++) mask |= (uint64_t)(found[i] & 1) << i;
    return mask;
#endif
}

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
    for (;; at += 16) {
        json_bytes bytes = json_bytes_at(at);
        uint64_t blank =
            json_mask((bytes == ' ') | (bytes == '\n') | (bytes == '\t') | (bytes == '\r'));
        if (blank != JSON_MASK_ALL)
            return at + __builtin_ctzll(~blank) / JSON_MASK_BITS;
    }
}

/* The first byte that is not plain within a string: a quote, a backslash, a control, one beyond
 * ASCII. */
static inline const char *json_scan_plain(const char *at)
{
    for (;; at += 16) {
        json_bytes bytes = json_bytes_at(at);
        /* As signed, those beyond ASCII are less than a space too. */
        uint64_t special = json_mask((bytes == '"') | (bytes == '\\') | (bytes < ' '));
        if (special != 0)
            return at + __builtin_ctzll(special) / JSON_MASK_BITS;
    }
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
