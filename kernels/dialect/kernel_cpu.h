/* The kernel dialect on the CPU device, for gcc: plain loops of known length that gcc turns into
 * vector instructions. Part of kernel.h.
 *
 * Each kernel becomes void NAME_f32(const void *arguments, long first, long last), which works on
 * rows or elements [first, last). The arguments are copied first, so that gcc knows that no store
 * to a tensor changes them. */
#pragma once

#if (defined REAL_BF16 && defined __AVX512BF16__) || (defined REAL_F16 && defined __F16C__)
#include <immintrin.h>
#elif defined REAL_F16 && defined __aarch64__
#include <arm_neon.h>
#endif

#ifdef REAL_F16
#include "kernels/dialect/half.h"
#endif

#ifdef REAL_BF16
KERNEL_INLINE float widen(bf16 x)
{
    return bits_float((uint32_t)x.bits << 16);
}

/* To nearest, ties to even. A NaN stays one: arithmetic makes none whose bits would overflow here.
 * A number with arbitrary bits goes through settled() first. (Telling NaNs apart here makes kernels
 * 1.0 to 1.3 times slower in cache, on a CPU without instructions for bf16.) */
KERNEL_INLINE bf16 narrow(float x)
{
    uint32_t bits = float_bits(x);
    bf16 narrowed = { (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16) };
    return narrowed;
}
#elif defined REAL_F16
KERNEL_INLINE float widen(f16 x)
{
    return half_widen(x.bits);
}

KERNEL_INLINE f16 narrow(float x)
{
    f16 narrowed = { half_narrow(x) };
    return narrowed;
}
#else
KERNEL_INLINE float widen(float x)
{
    return x;
}

KERNEL_INLINE float narrow(float x)
{
    return x;
}
#endif

/* x, added to others only once it is computed: fast-math may not take the sum apart. */
KERNEL_INLINE float whole(float x)
{
    __asm__("" : "+m"(x));
    return x;
}

/* A NaN of any bits becomes the one that arithmetic makes, which narrow() takes. */
KERNEL_INLINE float settled(float x)
{
    uint32_t bits = float_bits(x);
    return bits_float((bits & 0x7fffffffu) > 0x7f800000u ? (bits & 0x80000000u) | 0x7fc00000u
                                                         : bits);
}

#if defined REAL_BF16 && defined __AVX512BF16__

/* gcc 12 rounds to bf16 in integer code and widens through the stack, which costs more than bf16
 * saves; with these two a kernel is 1.3 to 2 times faster in cache. */
KERNEL_INLINE struct pack load(const real *from)
{
    struct pack pack;
    for (int half = 0; half < PACK; half += 16) {
        __m512i bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(from + half)));
        _mm512_storeu_ps(pack.v + half, _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16)));
    }
    return pack;
}

/* The instruction rounds as narrow() does, but takes numbers below 2^-126 for 0. */
KERNEL_INLINE void store(real *to, struct pack pack)
{
    __m512bh packed = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(pack.v + 16), _mm512_loadu_ps(pack.v));
    memcpy(to, &packed, sizeof packed);
}

#elif defined REAL_F16 && defined __AVX512F__

/* These instructions and half.h give the same bits, except a NaN's. */
KERNEL_INLINE struct pack load(const real *from)
{
    struct pack pack;
    for (int half = 0; half < PACK; half += 16)
        _mm512_storeu_ps(pack.v + half,
                         _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(from + half))));
    return pack;
}

KERNEL_INLINE void store(real *to, struct pack pack)
{
    for (int half = 0; half < PACK; half += 16)
        _mm256_storeu_si256((__m256i *)(to + half), _mm512_cvtps_ph(_mm512_loadu_ps(pack.v + half),
                                                                    _MM_FROUND_TO_NEAREST_INT));
}

#elif defined REAL_F16 && defined __F16C__

/* As above. */
KERNEL_INLINE struct pack load(const real *from)
{
    struct pack pack;
    for (int part = 0; part < PACK; part += 8)
        _mm256_storeu_ps(pack.v + part,
                         _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + part))));
    return pack;
}

KERNEL_INLINE void store(real *to, struct pack pack)
{
    for (int part = 0; part < PACK; part += 8)
        _mm_storeu_si128((__m128i *)(to + part), _mm256_cvtps_ph(_mm256_loadu_ps(pack.v + part),
                                                                 _MM_FROUND_TO_NEAREST_INT));
}

#elif defined REAL_F16 && defined __aarch64__

/* As above. */
KERNEL_INLINE struct pack load(const real *from)
{
    struct pack pack;
    for (int part = 0; part < PACK; part += 4)
        vst1q_f32(pack.v + part,
                  vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16((const uint16_t *)(from + part)))));
    return pack;
}

KERNEL_INLINE void store(real *to, struct pack pack)
{
    for (int part = 0; part < PACK; part += 4)
        vst1_u16((uint16_t *)(to + part),
                 vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(pack.v + part))));
}

#else

KERNEL_INLINE struct pack load(const real *from)
{
    struct pack pack;
    EACH(j) pack.v[j] = widen(from[j]);
    return pack;
}

KERNEL_INLINE void store(real *to, struct pack pack)
{
    EACH(j) to[j] = narrow(pack.v[j]);
}

#endif

/* The value that load() gives after store(). */
KERNEL_INLINE struct pack stored_value(struct pack pack)
{
    EACH(j) pack.v[j] = widen(narrow(pack.v[j]));
    return pack;
}

KERNEL_INLINE struct pack load_floats(const float *from)
{
    struct pack pack;
    EACH(j) pack.v[j] = from[j];
    return pack;
}

KERNEL_INLINE struct pack load_doubles(const double *from)
{
    struct pack pack;
    EACH(j) pack.v[j] = (float)from[j];
    return pack;
}

KERNEL_INLINE void store_doubles(double *to, struct pack pack)
{
    EACH(j) to[j] = (double)pack.v[j];
}

KERNEL_INLINE void store_floats(float *to, struct pack pack)
{
    EACH(j) to[j] = pack.v[j];
}

KERNEL_INLINE float row_sum(struct pack pack)
{
    float sum = 0;
    EACH(j) sum += pack.v[j];
    return sum;
}

KERNEL_INLINE float row_max(struct pack pack)
{
    float max = pack.v[0];
    EACH(j) max = larger(max, pack.v[j]);
    return max;
}

/* The sum of one number or pack from each lane, and whether any lane says so. */
KERNEL_INLINE float lanes_sum(float x)
{
    return x;
}

KERNEL_INLINE uint32_t lanes_sum_words(uint32_t x)
{
    return x;
}

KERNEL_INLINE int lanes_any(int x)
{
    return x;
}

/* e^x without a call: 2^n p(f), where n is the integer next to x / ln 2, f the rest in [-1/2, 1/2]
 * and p interpolates 2^f at the Chebyshev nodes of degree 6 (relative error 2e-8 with these
 * coefficients). In all the relative error is below 2e-7 + 2e-8 |x|. x is at most 88; below -87 the
 * result is 0. NaN stays NaN. n is read from the low bits of x / ln 2 + 1.5 * 2^23, and the
 * comparison is one of bits, because fast-math would simplify the one and assume no NaN in the
 * other. */
KERNEL_INLINE float exponential(float x)
{
    const float shift = 0x1.8p23f;
    float t = x * 1.44269504f;
    int32_t n = (int32_t)(float_bits(t + shift) - float_bits(shift));
    float f = t - (float)n;
    float p = 0.000154614449f;
    p = p * f + 0.0013400428f;
    p = p * f + 0.00961805694f;
    p = p * f + 0.0555032715f;
    p = p * f + 0.240226507f;
    p = p * f + 0.693147182f;
    p = p * f + 1;
    float power = p * bits_float((uint32_t)(n + 127) << 23);
    const uint32_t smallest = 0xc2ae0000u /* -87 */, minus_infinity = 0xff800000u;
    return float_bits(x) - smallest <= minus_infinity - smallest ? 0 : power;
}

/* x / y of finite x and of y within 2^-126 and 2^126. */
KERNEL_INLINE float quotient(float x, float y)
{
    return x / y;
}

#define KERNEL_FUNCTION(name)                                                                      \
    KERNEL_ASSERT(sizeof(struct name) <= KERNEL_ARGUMENT_BYTES,                                    \
                  "arguments of a kernel: 112 bytes");                                             \
    void KERNEL_NAME(name)(const void *arguments, long first, long last);                          \
    void KERNEL_NAME(name)(const void *arguments, long first, long last)

#define KERNEL_ROWS(name, k, row)                                                                  \
    KERNEL_INLINE void name##_row(const struct name *k, long row);                                 \
    KERNEL_FUNCTION(name)                                                                          \
    {                                                                                              \
        const struct name local = *(const struct name *)arguments;                                 \
        for (long index = first; index < last; index++) name##_row(&local, index);                 \
    }                                                                                              \
    KERNEL_INLINE void name##_row(const struct name *k, long row)

#define KERNEL_PACKS(name, k, i)                                                                   \
    KERNEL_INLINE void name##_pack(const struct name *k, long i);                                  \
    KERNEL_FUNCTION(name)                                                                          \
    {                                                                                              \
        const struct name local = *(const struct name *)arguments;                                 \
        for (long index = first; index < last; index += PACK) name##_pack(&local, index);          \
    }                                                                                              \
    KERNEL_INLINE void name##_pack(const struct name *k, long i)

/* A slice is the whole pack here. */
#define slice             pack
#define EACH_OF_SLICE     EACH
#define SLICE_FIRST       0
#define SLICE_LANE        0
#define SLICE_LANES       1
#define slice_of          pack_of
#define load_slice        load
#define load_slice_floats load_floats
#define store_slice       store
#define slices_sums(x)    (x)

/* A spread pack is a pack here. */
struct spread {
    long first;
};

KERNEL_INLINE struct spread spread_near(long i)
{
    struct spread spread = { i };
    return spread;
}

#define fills_warp(i, count) 0
#define spread_far           spread_near

#define load_spread(from, at)             load((from) + (at).first)
#define load_spread_floats(from, at)      load_floats((from) + (at).first)
#define store_spread(to, at, pack)        store((to) + (at).first, pack)
#define store_spread_floats(to, at, pack) store_floats((to) + (at).first, pack)

#define KERNEL_SPREAD(name, k, at)                                                                 \
    KERNEL_INLINE void name##_spread(const struct name *k, struct spread at);                      \
    KERNEL_PACKS(name, k, i)                                                                       \
    {                                                                                              \
        name##_spread(k, spread_near(i));                                                          \
    }                                                                                              \
    KERNEL_INLINE void name##_spread(const struct name *k, struct spread at)

#define KERNEL_ONE_ROW KERNEL_ROWS
#define KERNEL_COLUMNS KERNEL_PACKS

#define KERNEL_PACKS_WITH(name, k, i, type, value, expression)                                     \
    KERNEL_INLINE void name##_pack(const struct name *k, long i, type value);                      \
    KERNEL_FUNCTION(name)                                                                          \
    {                                                                                              \
        const struct name local = *(const struct name *)arguments, *k = &local;                    \
        const type value = expression;                                                             \
        for (long index = first; index < last; index += PACK) name##_pack(k, index, value);        \
    }                                                                                              \
    KERNEL_INLINE void name##_pack(const struct name *k, long i, type value)

#define KERNEL_SPREAD_WITH(name, k, at, type, value, expression)                                   \
    KERNEL_INLINE void name##_spread(const struct name *k, struct spread at, type value);          \
    KERNEL_PACKS_WITH(name, k, i, type, value, expression)                                         \
    {                                                                                              \
        name##_spread(k, spread_near(i), value);                                                   \
    }                                                                                              \
    KERNEL_INLINE void name##_spread(const struct name *k, struct spread at, type value)
