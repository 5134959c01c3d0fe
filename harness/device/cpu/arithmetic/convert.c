/* Conversions between fp32 and the 16-bit types. Integer arithmetic on the bits throughout, without
 * branches, so that compilers vectorise it. */
#include "harness/device/cpu/arithmetic/convert.h"

#include "kernels/dialect/half.h"

static inline uint16_t narrow_bf16(float f)
{
    uint32_t bits = half_bits_of(f), nan = (bits & 0x7fffffffu) > 0x7f800000u;
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;

    return (uint16_t)(nan ? bits >> 16 | 0x40u : rounded);
}

void convert_widen(float *to, const void *from, enum dtype dtype, long rows, long columns,
                   long stride)
{
    const uint16_t *halves = from;

    for (long r = 0; r < rows; r++, to += columns, halves += stride)
        if (dtype == DTYPE_BF16)
            for (long c = 0; c < columns; c++) to[c] = half_float_of((uint32_t)halves[c] << 16);
        else
            for (long c = 0; c < columns; c++) to[c] = half_widen(halves[c]);
}

void convert_narrow(void *to, const float *from, enum dtype dtype, long rows, long columns,
                    long stride)
{
    uint16_t *halves = to;

    for (long r = 0; r < rows; r++, from += columns, halves += stride)
        if (dtype == DTYPE_BF16)
            for (long c = 0; c < columns; c++) halves[c] = narrow_bf16(from[c]);
        else
            for (long c = 0; c < columns; c++) halves[c] = half_narrow(from[c]);
}
