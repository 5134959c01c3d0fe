/* Nineteen digits fit in 64 bits, which is enough for nanoseconds since 1970. Further digits only
 * round. */
#include "harness/desk/read/kineto/decimal.h"

enum { DIGITS = 19, EXPONENT_MAX = 100000 };

#define VALUE_MAX (UINT64_C(1) << 62)

struct decimal {
    bool negative;
    uint64_t digits; /* value = digits x 10^exponent */
    int exponent;
    int dropped; /* the first digit that found no room */
    bool exact;  /* none was dropped but zeros */
};

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

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

static bool parse(struct decimal *decimal, const char *text, size_t length)
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
static bool settle(struct decimal *decimal, uint64_t most)
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
static bool plain(const char *text, size_t length, size_t fraction, int64_t *value)
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

    if (plain(text, length, 3, ns))
        return true;
    if (!parse(&decimal, text, length))
        return false;
    decimal.exponent += 3;
    if (!settle(&decimal, VALUE_MAX))
        return false;
    *ns = with_sign(&decimal);
    return true;
}

bool decimal_integer(const char *text, size_t length, int64_t *value)
{
    struct decimal decimal;

    if (plain(text, length, 0, value))
        return true;
    if (!parse(&decimal, text, length) || !settle(&decimal, INT64_MAX) || !decimal.exact)
        return false;
    *value = with_sign(&decimal);
    return true;
}
