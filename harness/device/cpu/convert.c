/* Integer arithmetic on the bits throughout, without branches, so that compilers vectorise it. */
#include "harness/device/cpu/convert.h"

#include <string.h>

static inline float float_of(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t bits_of(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline float widen_bf16(uint16_t half)
{
    return float_of((uint32_t)half << 16);
}

static inline uint16_t narrow_bf16(float f)
{
    uint32_t bits = bits_of(f), nan = (bits & 0x7fffffffu) > 0x7f800000u;
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;

    return (uint16_t)(nan ? bits >> 16 | 0x40u : rounded);
}

/* An fp16's exponent and fraction, moved to their places in fp32, are 2^112 too small: a product puts
 * that right, for subnormals too. Only infinities and NaN have to be told apart. */
static inline float widen_f16(uint16_t half)
{
    uint32_t magnitude = (uint32_t)(half & 0x7fffu) << 13, sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t finite = bits_of(float_of(magnitude) * 0x1p112f);
    uint32_t special = magnitude | 0x7f800000u;

    return float_of((magnitude >= 0x0f800000u ? special : finite) | sign);
}

/* Normal results are rounded by adding half a unit; subnormal ones by adding a float whose last bit
 * weighs as much as theirs, which makes the addition round. */
static inline uint16_t narrow_f16(float f)
{
    uint32_t bits = bits_of(f), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    uint32_t normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13;
    uint32_t subnormal = bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f);
    uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
    uint32_t half = magnitude < 0x38800000u ? subnormal : normal; /* 2^-14: the least normal one */

    half = magnitude >= 0x477ff000u ? special : half; /* 65520: what rounds to infinity */
    return (uint16_t)(half | sign);
}

void convert_widen(float *to, const void *from, enum dtype dtype, long rows, long columns,
                   long stride)
{
    const uint16_t *halves = from;

    for (long r = 0; r < rows; r++, to += columns, halves += stride)
        if (dtype == DTYPE_BF16)
            for (long c = 0; c < columns; c++) to[c] = widen_bf16(halves[c]);
        else
            for (long c = 0; c < columns; c++) to[c] = widen_f16(halves[c]);
}

void convert_narrow(void *to, const float *from, enum dtype dtype, long rows, long columns,
                    long stride)
{
    uint16_t *halves = to;

    for (long r = 0; r < rows; r++, from += columns, halves += stride)
        if (dtype == DTYPE_BF16)
            for (long c = 0; c < columns; c++) halves[c] = narrow_bf16(from[c]);
        else
            for (long c = 0; c < columns; c++) halves[c] = narrow_f16(from[c]);
}
