/* Arithmetic in 16 bits, alone and in pairs. Each result is rounded once: it is computed in double
 * precision to odd, which says on which side of the number it lies, and only then to the type. */
#include "harness/simt/code/lanes.h"

#include "kernels/dialect/half.h"

#include <math.h>
#include <string.h>

static inline double f16_widen(uint32_t bits)
{
    return half_widen((uint16_t)bits);
}

static inline double bf16_widen(uint32_t bits)
{
    return half_float_of(bits << 16);
}

/* To fp32: not to the nearest, but if that is inexact to the neighbour whose last bit is set.
 * Another rounding, to fewer bits, is then the same as that of the exact value. */
static inline float to_odd(double x)
{
    float near = (float)x;
    uint32_t bits = half_bits_of(near);

    if (near == x || x != x || bits & 1)
        return near;
    return half_float_of(fabs((double)near) < fabs(x) ? bits + 1 : bits - 1);
}

/* The sum of two doubles, to odd. */
static inline double sum_to_odd(double a, double b)
{
    double sum = a + b, part = sum - a, error = (a - (sum - part)) + (b - part);
    uint64_t bits;

    memcpy(&bits, &sum, sizeof bits);
    if (error != 0 && error == error && !(bits & 1)) {
        bits = (error > 0) == (sum > 0) ? bits + 1 : bits - 1;
        memcpy(&sum, &bits, sizeof sum);
    }
    return sum;
}

static inline uint32_t f16_narrow(double x)
{
    return x != x ? 0x7fffu : half_narrow(to_odd(x));
}

static inline uint32_t bf16_narrow(double x)
{
    uint32_t bits = half_bits_of(to_odd(x));

    return x != x ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}

#define LESSER  (x != x ? y : y != y ? x : x < y || (x == y && signbit(x)) ? x : y)
#define GREATER (x != x ? y : y != y ? x : x > y || (x == y && signbit(y)) ? x : y)

/* One number, and two. */
#define BINARY_HALF(t, operation, expression)                                                      \
    static inline uint32_t t##_##operation(uint32_t a, uint32_t b)                                 \
    {                                                                                              \
        double x = t##_widen(a & 0xffff), y = t##_widen(b & 0xffff);                               \
        return t##_narrow(expression);                                                             \
    }                                                                                              \
    BINARY(operation##_##t, uint32_t, uint32_t, uint32_t, t##_##operation(x, y))                   \
    BINARY(operation##_##t##x2, uint32_t, uint32_t, uint32_t,                                      \
           t##_##operation(x, y) | t##_##operation(x >> 16, y >> 16) << 16)
#define HALF_OPERATIONS(t)                                                                         \
    BINARY_HALF(t, add, sum_to_odd(x, y))                                                          \
    BINARY_HALF(t, sub, sum_to_odd(x, -y))                                                         \
    BINARY_HALF(t, mul, x *y)                                                                      \
    BINARY_HALF(t, min, LESSER)                                                                    \
    BINARY_HALF(t, max, GREATER)                                                                   \
    static inline uint32_t t##_fma(uint32_t a, uint32_t b, uint32_t c)                             \
    {                                                                                              \
        return t##_narrow(                                                                         \
            sum_to_odd(t##_widen(a & 0xffff) * t##_widen(b & 0xffff), t##_widen(c & 0xffff)));     \
    }                                                                                              \
    TERNARY(fma_##t, uint32_t, uint32_t, uint32_t, uint32_t, t##_fma(x, y, z))                     \
    TERNARY(fma_##t##x2, uint32_t, uint32_t, uint32_t, uint32_t,                                   \
            t##_fma(x, y, z) | t##_fma(x >> 16, y >> 16, z >> 16) << 16)
HALF_OPERATIONS(f16)
HALF_OPERATIONS(bf16)

/* A comparison gives 1 of the type, or all bits. */
#define COMPARISON_OF_HALVES(comparison, expression, t, one)                                       \
    static inline uint32_t t##_##comparison(uint32_t a, uint32_t b)                                \
    {                                                                                              \
        double x = t##_widen(a & 0xffff), y = t##_widen(b & 0xffff);                               \
        return (expression) ? 0xffffu : 0;                                                         \
    }                                                                                              \
    BINARY(comparison##_##t, uint32_t, uint32_t, uint32_t, t##_##comparison(x, y) & one)           \
    BINARY(comparison##_##t##x2, uint32_t, uint32_t, uint32_t,                                     \
           (t##_##comparison(x, y) & one) | (t##_##comparison(x >> 16, y >> 16) & one) << 16)      \
    BINARY(comparison##_mask_##t, uint32_t, uint32_t, uint32_t,                                    \
           t##_##comparison(x, y) ? UINT32_MAX : 0)                                                \
    BINARY(comparison##_mask_##t##x2, uint32_t, uint32_t, uint32_t,                                \
           t##_##comparison(x, y) | t##_##comparison(x >> 16, y >> 16) << 16)
REAL_COMPARISONS(COMPARISON_OF_HALVES, f16, 0x3c00u)
REAL_COMPARISONS(COMPARISON_OF_HALVES, bf16, 0x3f80u)

uint32_t half_sums(uint32_t a, uint32_t b, bool bf16)
{
    return bf16 ? bf16_add(a, b) | bf16_add(a >> 16, b >> 16) << 16
                : f16_add(a, b) | f16_add(a >> 16, b >> 16) << 16;
}

UNARY(neg_one, uint32_t, uint32_t, uint32_t, x ^ 0x8000u)
UNARY(neg_two, uint32_t, uint32_t, uint32_t, x ^ 0x80008000u)
UNARY(abs_one, uint32_t, uint32_t, uint32_t, x & 0x7fffu)
UNARY(abs_two, uint32_t, uint32_t, uint32_t, x & 0x7fff7fffu)

#define ROWS_OF(t)                                                                                 \
    { "add." #t, add_##t, "h:hh" }, { "add.rn." #t, add_##t, "h:hh" },                             \
        { "sub." #t, sub_##t, "h:hh" }, { "sub.rn." #t, sub_##t, "h:hh" },                         \
        { "mul." #t, mul_##t, "h:hh" }, { "mul.rn." #t, mul_##t, "h:hh" },                         \
        { "min." #t, min_##t, "h:hh" }, { "max." #t, max_##t, "h:hh" },                            \
        { "fma.rn." #t, fma_##t, "h:hhh" }, { "neg." #t, neg_one, "h:h" },                         \
        { "abs." #t, abs_one, "h:h" }, { "add." #t "x2", add_##t##x2, "w:ww" },                    \
        { "add.rn." #t "x2", add_##t##x2, "w:ww" }, { "sub." #t "x2", sub_##t##x2, "w:ww" },       \
        { "sub.rn." #t "x2", sub_##t##x2, "w:ww" }, { "mul." #t "x2", mul_##t##x2, "w:ww" },       \
        { "mul.rn." #t "x2", mul_##t##x2, "w:ww" }, { "min." #t "x2", min_##t##x2, "w:ww" },       \
        { "max." #t "x2", max_##t##x2, "w:ww" }, { "fma.rn." #t "x2", fma_##t##x2, "w:www" },      \
        { "neg." #t "x2", neg_two, "w:w" }, { "abs." #t "x2", abs_two, "w:w" },
#define COMPARISON_ROWS(comparison, expression, t)                                                 \
    { "set." #comparison "." #t "." #t, comparison##_##t, "h:hh" },                                \
        { "set." #comparison "." #t "x2." #t "x2", comparison##_##t##x2, "w:ww" },                 \
        { "set." #comparison ".u32." #t, comparison##_mask_##t, "w:hh" },                          \
        { "set." #comparison ".u32." #t "x2", comparison##_mask_##t##x2, "w:ww" },
static const struct opcode rows[] = { ROWS_OF(f16) ROWS_OF(bf16) REAL_COMPARISONS(
    COMPARISON_ROWS, f16) REAL_COMPARISONS(COMPARISON_ROWS, bf16) };
const struct opcode_table opcodes_half = { rows, ARRAY_SIZE(rows) };
