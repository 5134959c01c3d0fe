/* Conversions that have no row of their own: between any two types, with any rounding. A number of
 * every type fits into a long double (64 bits of mantissa), so that it is rounded once. */
#include "harness/simt/code/lanes.h"
#include "harness/simt/code/number_types.h"

#include <math.h>
#include <string.h>

const struct number_type number_types[] = {
#define NUMBER_ROW(name, bits, form, sign, exponent, mantissa)                                     \
    { #name, bits, form, sign, exponent, mantissa },
    NUMBER_TYPES(NUMBER_ROW)
#undef NUMBER_ROW
};

int number_find(const char *name)
{
    for (int t = 0; t < NUMBER_TYPE_COUNT; t++)
        if (strcmp(number_types[t].name, name) == 0)
            return t;
    return -1;
}

static bool has_infinity(const struct number_type *type)
{
    return type->mantissa > 3 || type->exponent == 5;
}

static int bias_of(const struct number_type *type)
{
    return (1 << (type->exponent - 1)) - 1;
}

/* The place of the lowest bit of the mantissa: tf32 is the upper bits of a word. */
static int shift_of(const struct number_type *type)
{
    return type->bits - 1 - type->exponent - type->mantissa;
}

long double number_read(int number, uint64_t bits)
{
    const struct number_type *type = &number_types[number];
    uint64_t low = type->bits == 64 ? UINT64_MAX : (UINT64_C(1) << type->bits) - 1, fraction;
    int exponent;
    long double value;

    bits &= low;
    if (type->exponent == 0 && type->is_signed)
        return (long double)((int64_t)(bits << (64 - type->bits)) >> (64 - type->bits));
    if (type->exponent == 0)
        return (long double)bits;
    bits >>= shift_of(type);
    fraction = bits & ((UINT64_C(1) << type->mantissa) - 1);
    exponent = (int)(bits >> type->mantissa & ((1u << type->exponent) - 1));
    if (exponent == (1 << type->exponent) - 1 && has_infinity(type))
        value = fraction != 0 ? (long double)NAN : (long double)INFINITY;
    else if (!has_infinity(type) && (bits & 127) == 127)
        value = (long double)NAN;
    else if (exponent == 0)
        value = ldexpl((long double)fraction, 1 - bias_of(type) - type->mantissa);
    else
        value = ldexpl((long double)(fraction | UINT64_C(1) << type->mantissa),
                       exponent - bias_of(type) - type->mantissa);
    return bits >> (type->exponent + type->mantissa) & 1 ? -value : value;
}

/* To a whole number. */
static long double whole_of(long double x, enum number_rounding rounding)
{
    switch (rounding) {
    case ROUND_DOWN:
        return floorl(x);
    case ROUND_UP:
        return ceill(x);
    case ROUND_ZERO:
        return truncl(x);
    case ROUND_AWAY:
        return roundl(x);
    default:
        return rintl(x);
    }
}

static uint64_t write_integer(const struct number_type *type, long double x, int flags)
{
    int bits = type->bits - type->is_signed;
    long double most = ldexpl(1, bits) - 1, least = type->is_signed ? -ldexpl(1, bits) : 0;

    if (x != x)
        return 0;
    /* Upper bits that do not fit are cut off, unless the nearest number that fits is asked for. */
    if (!(flags & NUMBER_HELD) && x >= -0x1p63L && x < 0x1p64L)
        return x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
    x = x < least ? least : x > most ? most : x;
    return x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
}

static uint64_t write_real(const struct number_type *type, long double x,
                           enum number_rounding rounding, int flags)
{
    uint64_t sign = (uint64_t)(signbit(x) != 0) << (type->exponent + type->mantissa), bits;
    uint64_t all = (UINT64_C(1) << (type->exponent + type->mantissa)) - 1;
    uint64_t infinity = all >> type->mantissa << type->mantissa;
    uint64_t most = has_infinity(type) ? infinity - 1 : all - 1;
    int exponent, least = 1 - bias_of(type) - type->mantissa;
    long double quantum, q;

    if (x != x)
        return all << shift_of(type);
    if (isinf(x)) {
        bits = has_infinity(type) && !(flags & NUMBER_FINITE) ? infinity : most;
        return (bits | sign) << shift_of(type);
    }
    frexpl(x, &exponent);
    exponent -= type->mantissa + 1;
    exponent = exponent < least ? least : exponent;
    quantum = ldexpl(1, exponent);
    q = fabsl(whole_of(x / quantum, rounding));
    /* With the lowest exponent, q is what the bits are; each further one adds a step of the
     * exponent, and a mantissa that overflows carries into it. */
    bits = q == 0 ? 0 : (uint64_t)q + ((uint64_t)(exponent - least) << type->mantissa);
    if (bits > most || exponent - least > 1 << type->exponent) {
        bool stays = rounding == ROUND_ZERO || rounding == (sign ? ROUND_UP : ROUND_DOWN);
        bits = stays || (flags & NUMBER_FINITE) || !has_infinity(type) ? most : infinity;
    }
    return (bits | sign) << shift_of(type);
}

uint64_t number_write(int number, long double x, enum number_rounding rounding, int flags)
{
    const struct number_type *type = &number_types[number];

    if (flags & NUMBER_WHOLE)
        x = whole_of(x, rounding);
    if ((flags & NUMBER_RELU) && x < 0)
        x = 0;
    if ((flags & NUMBER_HELD) && type->exponent > 0)
        x = x > 0 ? (x < 1 ? x : 1) : 0;
    if ((flags & NUMBER_FLUSHED) && fabsl(x) < 0x1p-126L)
        x *= 0;
    return type->exponent > 0 ? write_real(type, x, rounding, flags)
                              : write_integer(type, x, flags);
}

static uint64_t bits_of_lane(const struct warp *warp, int32_t place, bool is_long, int lane)
{
    return is_long ? REGISTER(uint64_t, place)[lane] : REGISTER(uint32_t, place)[lane];
}

/* With two sources, the first becomes the upper half of the result. One source that holds two
 * numbers is converted into two. */
void lanes_convert(struct warp *warp, const struct instruction *instruction)
{
    int from = (int)(instruction->offset & 255), to = (int)(instruction->offset >> 8 & 255),
        flags = (int)(instruction->offset >> 16);
    enum number_rounding rounding = (enum number_rounding)instruction->mode;
    int own = number_types[to].bits, its = number_types[from].bits;
    bool pair = instruction->vector == 2, two = instruction->s[1] >= 0;
    bool ftz = flags & NUMBER_FLUSHED;

    for (int l = 0; l < SIMT_LANES; l++) {
        uint64_t bits = bits_of_lane(warp, instruction->s[0], its == 64, l), result;
        uint64_t upper = two || !pair ? bits : bits >> its;
        long double x =
            number_read(from, two ? bits_of_lane(warp, instruction->s[1], false, l) : bits);
        if (!warp->lane[l])
            continue;
        if (ftz && its == 32 && number_types[from].exponent > 0 && fabsl(x) < 0x1p-126L)
            x *= 0;
        result = number_write(to, x, rounding, flags);
        if (pair)
            result |= number_write(to, number_read(from, upper), rounding, flags) << own;
        if (own == 64 && !pair)
            REGISTER(uint64_t, instruction->d[0])[l] = result;
        else
            REGISTER(uint32_t, instruction->d[0])[l] = (uint32_t)result;
    }
}
