/* Tokens of JSON, and the exact values of its numbers. Values are passed over by recursive descent
 * without a stack of its own: they call each other, down to JSON_SCAN_DEPTH. */
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

/* --- Exact numbers --- */

/* Nineteen digits fit in 64 bits, which is enough for nanoseconds since 1970. Further digits only
 * round. */
enum { DIGITS = 19, EXPONENT_MAX = 100000 };

#define VALUE_MAX (UINT64_C(1) << 62)

struct decimal {
    bool negative;
    uint64_t digits; /* value = digits x 10^exponent */
    int exponent;
    int dropped; /* the first digit that found no room */
    bool exact;  /* only zeros were dropped */
};

/* Takes a run of digits; `scale` is what each does to the exponent: -1 in a fraction, 0 before. */
static const char *take_digits(struct decimal *decimal, const char *at, const char *end, int scale,
                               int *room)
{
    for (; at < end && is_digit(*at); at++) {
        int digit = *at - '0';
        if (*room > 0) {
            decimal->digits = decimal->digits * 10 + (uint64_t)digit;
            decimal->exponent += scale;
            if (decimal->digits != 0)
                --*room;
        } else {
            if (*room == 0)
                decimal->dropped = digit;
            *room = -1;
            decimal->exact = decimal->exact && digit == 0;
            if (decimal->exponent < EXPONENT_MAX)
                decimal->exponent += scale + 1;
        }
    }
    return at;
}

static bool take_exponent(struct decimal *decimal, const char *at, const char *end)
{
    int exponent = 0;
    bool negative = at < end && *at == '-';

    if (at < end && (*at == '-' || *at == '+'))
        at++;
    if (at == end)
        return false;
    for (; at < end && is_digit(*at); at++)
        if (exponent < EXPONENT_MAX)
            exponent = exponent * 10 + (*at - '0');
    decimal->exponent += negative ? -exponent : exponent;
    return at == end;
}

static bool parse_decimal(struct decimal *decimal, const char *text, size_t length)
{
    const char *at = text, *end, *from;
    int room = DIGITS;

    *decimal = (struct decimal){ .exact = true };
    if (length == 0) /* then `text` may be NULL */
        return false;
    end = text + length;
    if (at < end && *at == '-') {
        decimal->negative = true;
        at++;
    }
    from = at;
    at = take_digits(decimal, at, end, 0, &room);
    if (at == from || (*from == '0' && at > from + 1))
        return false;
    if (at < end && *at == '.') {
        from = ++at;
        at = take_digits(decimal, at, end, -1, &room);
        if (at == from)
            return false;
    }
    if (at < end && (*at == 'e' || *at == 'E'))
        return take_exponent(decimal, at + 1, end);
    return at == end;
}

/* Brings the exponent to 0. False: it does not fit. */
static bool settle_decimal(struct decimal *decimal, uint64_t most)
{
    if (decimal->exponent == 0 && decimal->dropped >= 5)
        decimal->digits++;
    while (decimal->exponent > 0 && decimal->digits != 0) {
        if (decimal->digits > most / 10)
            return false;
        decimal->digits *= 10;
        decimal->exponent--;
    }
    if (decimal->exponent < 0) {
        int last = 0;
        while (decimal->exponent < 0 && (decimal->digits != 0 || last != 0)) {
            decimal->exact = decimal->exact && last == 0;
            last = (int)(decimal->digits % 10);
            decimal->digits /= 10;
            decimal->exponent++;
        }
        decimal->exact = decimal->exact && last == 0;
        if (last >= 5)
            decimal->digits++;
    }
    return decimal->digits <= most;
}

static int64_t with_sign(const struct decimal *decimal)
{
    return decimal->negative ? -(int64_t)decimal->digits : (int64_t)decimal->digits;
}

/* Most numbers are short and plain: "1695835.123", with at most `fraction` digits behind the point.
 * Sets *value to them, times 10^fraction. False: it is none of these; it may be another number, or
 * none. */
static bool plain_decimal(const char *text, size_t length, size_t fraction, int64_t *value)
{
    uint64_t digits = 0;
    size_t at = 0, whole, behind;

    if (length == 0 || length > DIGITS)
        return false;
    while (at < length && is_digit(text[at])) digits = digits * 10 + (uint64_t)(text[at++] - '0');
    whole = behind = at;
    if (whole == 0 || whole + fraction > DIGITS || (text[0] == '0' && whole > 1))
        return false;
    if (at < length && text[at] == '.') {
        behind = ++at;
        while (at < length && is_digit(text[at]))
            digits = digits * 10 + (uint64_t)(text[at++] - '0');
        if (at == behind)
            return false;
    }
    if (at < length || at - behind > fraction)
        return false;
    for (behind = at - behind; behind < fraction; behind++) digits *= 10;
    if (digits > VALUE_MAX)
        return false;
    *value = (int64_t)digits;
    return true;
}

bool decimal_us_to_ns(const char *text, size_t length, int64_t *ns)
{
    struct decimal decimal;

    if (plain_decimal(text, length, 3, ns))
        return true;
    if (!parse_decimal(&decimal, text, length))
        return false;
    decimal.exponent += 3;
    if (!settle_decimal(&decimal, VALUE_MAX))
        return false;
    *ns = with_sign(&decimal);
    return true;
}

bool decimal_integer(const char *text, size_t length, int64_t *value)
{
    struct decimal decimal;

    if (plain_decimal(text, length, 0, value))
        return true;
    if (!parse_decimal(&decimal, text, length) || !settle_decimal(&decimal, INT64_MAX) ||
        !decimal.exact)
        return false;
    *value = with_sign(&decimal);
    return true;
}
