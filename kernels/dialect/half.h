/* fp16 (IEEE 754 binary16) to fp32 and back, in C: integer arithmetic on the bits throughout,
 * without branches, so that compilers vectorise it. Exact to widen; to narrow, to nearest with ties
 * to even: numbers below 2^-14 become subnormal, from 65520 on infinite, and a NaN stays one. */
#pragma once

#include <stdint.h>
#include <string.h>

static inline __attribute__((always_inline)) float half_float_of(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline __attribute__((always_inline)) uint32_t half_bits_of(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* An fp16's exponent and fraction, moved to their places in fp32, are 2^112 too small: a product
 * puts that right, for subnormals too. Only infinities and NaN have to be told apart. */
static inline __attribute__((always_inline)) float half_widen(uint16_t half)
{
    uint32_t magnitude = (uint32_t)(half & 0x7fffu) << 13, sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t finite = half_bits_of(half_float_of(magnitude) * 0x1p112f);
    uint32_t special = magnitude | 0x7f800000u;

    return half_float_of((magnitude >= 0x0f800000u ? special : finite) | sign);
}

/* Normal results are rounded by adding half a unit; subnormal ones by adding a float whose last bit
 * weighs as much as theirs, which makes the addition round. */
static inline __attribute__((always_inline)) uint16_t half_narrow(float f)
{
    uint32_t bits = half_bits_of(f), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    uint32_t normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13;
    uint32_t subnormal = half_bits_of(half_float_of(magnitude) + 0.5f) - half_bits_of(0.5f);
    uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
    uint32_t half = magnitude < 0x38800000u ? subnormal : normal; /* 2^-14: the least normal one */

    half = magnitude >= 0x477ff000u ? special : half; /* 65520: what rounds to infinity */
    return (uint16_t)(half | sign);
}
