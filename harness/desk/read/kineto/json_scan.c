/* Recursive descent without a stack of its own: values call each other, down to JSON_SCAN_DEPTH. */
#include "harness/desk/read/kineto/json_scan.h"

#include "harness/base/status.h"
#include "harness/base/words/json_words.h"
#include "harness/base/words/utf8.h"

#include <stdint.h>
#include <string.h>

/* --- Strings --- */

static int hexadecimal(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    digit = (char)(digit | 0x20);
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Four hexadecimal digits; -1: they are not. */
static int32_t unit_of(const char *at)
{
    int32_t unit = 0;

    for (int i = 0; i < 4; i++) {
        int digit = hexadecimal(at[i]);
        if (digit < 0)
            return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

/* Likewise; 0: it is none. */
static size_t valid_escape(const char *at, int32_t *character)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *letter = at[1] != '\0' ? strchr(letters, at[1]) : NULL;
    int32_t low;

    if (letter != NULL) {
        *character = meant[letter - letters];
        return 2;
    }
    if (at[1] != 'u' || (*character = unit_of(at + 2)) < 0)
        return 0;
    if (*character < 0xd800 || *character > 0xdfff)
        return 6;
    /* UTF-16's two halves of a character beyond U+FFFF */
    if (*character > 0xdbff || at[6] != '\\' || at[7] != 'u')
        return 0;
    low = unit_of(at + 8);
    if (low < 0xdc00 || low > 0xdfff)
        return 0;
    *character = 0x10000 + ((*character - 0xd800) << 10) + (low - 0xdc00);
    return 12;
}

/* The length of the escape at `at`, a backslash, and the character that it stands for. Kineto on
 * Windows wrote paths as they are ("C:\Users"), so a backslash that begins no escape stands for
 * itself. 0: the text ends, or is broken there. */
static size_t escape(const char *at, int32_t *character)
{
    size_t length = valid_escape(at, character);

    if (length > 0 || (unsigned char)at[1] < ' ')
        return length;
    *character = '\\';
    return 1;
}

static size_t put_utf8(char *text, int32_t character)
{
    static const struct {
        int32_t below;
        unsigned char first;
    } forms[] = { { 0x80, 0 }, { 0x800, 0xc0 }, { 0x10000, 0xe0 }, { 0x110000, 0xf0 } };
    size_t more = 0;

    while (character >= forms[more].below) more++;
    text[0] = (char)(forms[more].first | character >> 6 * more);
    for (size_t i = 1; i <= more; i++)
        text[i] = (char)(0x80 | (character >> 6 * (more - i) & 0x3f));
    return more + 1;
}

const char *json_scan_any_string(const char *at, bool *escaped)
{
    int32_t character;
    size_t length;

    for (;;) {
        at = json_scan_plain(at);
        if (*at == '"')
            return at + 1;
        if (*at == '\\') {
            *escaped = true;
            length = escape(at, &character);
        } else {
            length = (*at & 0x80) != 0 ? utf8_bytes(at) : 0;
        }
        if (length == 0)
            return NULL;
        at += length;
    }
}

size_t json_scan_unescape(const char *at, char *text)
{
    char *to = text;
    int32_t character;

    while (*at != '"')
        if (*at == '\\') {
            at += escape(at, &character);
            to += put_utf8(to, character);
        } else {
            *to++ = *at++;
        }
    return (size_t)(to - text);
}

/* --- Numbers and words --- */

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static const char *digits(const char *at)
{
    if (!is_digit(*at))
        return NULL;
    while (is_digit(*at)) at++;
    return at;
}

const char *json_scan_number(const char *at)
{
    if (*at == '-')
        at++;
    at = *at == '0' ? at + 1 : digits(at);
    if (at != NULL && *at == '.')
        at = digits(at + 1);
    if (at != NULL && (*at == 'e' || *at == 'E')) {
        at++;
        at = digits(*at == '-' || *at == '+' ? at + 1 : at);
    }
    return at;
}

const char *json_scan_word(const char *at)
{
    static const char *const words[] = { "true", "false", "null" };

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strncmp(at, words[i], strlen(words[i])) == 0)
            return at + strlen(words[i]);
    return NULL;
}

/* --- Values --- */

static const char *members(const char *at, int depth)
{
    bool escaped;

    at = json_scan_blanks(at + 1);
    if (*at == '}')
        return at + 1;
    for (;; at++) {
        at = json_scan_blanks(at);
        at = *at == '"' ? json_scan_string(at + 1, &escaped) : NULL;
        if (at == NULL)
            return NULL;
        at = json_scan_blanks(at);
        at = *at == ':' ? json_scan_value(json_scan_blanks(at + 1), depth) : NULL;
        if (at == NULL)
            return NULL;
        at = json_scan_blanks(at);
        if (*at == '}')
            return at + 1;
        if (*at != ',')
            return NULL;
    }
}

static const char *elements(const char *at, int depth)
{
    at = json_scan_blanks(at + 1);
    if (*at == ']')
        return at + 1;
    for (;; at++) {
        at = json_scan_value(json_scan_blanks(at), depth);
        if (at == NULL)
            return NULL;
        at = json_scan_blanks(at);
        if (*at == ']')
            return at + 1;
        if (*at != ',')
            return NULL;
    }
}

const char *json_scan_value(const char *at, int depth)
{
    const char *end;
    bool escaped;
    size_t word;

    switch (*at) {
    case '"':
        return json_scan_string(at + 1, &escaped);
    case '{':
        return depth < JSON_SCAN_DEPTH ? members(at, depth + 1) : NULL;
    case '[':
        return depth < JSON_SCAN_DEPTH ? elements(at, depth + 1) : NULL;
    default:
        end = is_digit(*at) || *at == '-' ? json_scan_number(at) : json_scan_word(at);
        if (end != NULL)
            return end;
        word = json_words_length(at);
        return word > 0 ? at + word : NULL;
    }
}
