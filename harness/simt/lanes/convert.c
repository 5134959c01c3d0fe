/* From one type to another. To integers of fewer bits what does not fit is cut off; from floating
 * point the result is the nearest number that the type has, and 0 for NaN. */
#include "harness/simt/code/lanes.h"

#include "kernels/dialect/half.h"

#include <math.h>

/* Narrow numbers are widened to a word with their sign, so that a register of 16 and one of 32 bits
 * hold them alike. */
#define FROM_TO(X, to, form, result, T, from, from_form, held, S)                                  \
    X(cvt_##to##_##from, "cvt." #to "." #from, form ":" from_form, held, S, result, (result)(T)x)
#define FROM_ALL(X, to, form, result, T)                                                           \
    FROM_TO(X, to, form, result, T, u8, "b", uint32_t, uint8_t)                                    \
    FROM_TO(X, to, form, result, T, s8, "b", uint32_t, int8_t)                                     \
    FROM_TO(X, to, form, result, T, u16, "h", uint32_t, uint16_t)                                  \
    FROM_TO(X, to, form, result, T, s16, "h", uint32_t, int16_t)                                   \
    FROM_TO(X, to, form, result, T, u32, "w", uint32_t, uint32_t)                                  \
    FROM_TO(X, to, form, result, T, s32, "w", uint32_t, int32_t)                                   \
    FROM_TO(X, to, form, result, T, u64, "d", uint64_t, uint64_t)                                  \
    FROM_TO(X, to, form, result, T, s64, "d", uint64_t, int64_t)
#define INTEGERS(X)                                                                                \
    FROM_ALL(X, u8, "b", uint32_t, uint8_t)                                                        \
    FROM_ALL(X, s8, "b", int32_t, int8_t)                                                          \
    FROM_ALL(X, u16, "h", uint32_t, uint16_t)                                                      \
    FROM_ALL(X, s16, "h", int32_t, int16_t)                                                        \
    FROM_ALL(X, u32, "w", uint32_t, uint32_t)                                                      \
    FROM_ALL(X, s32, "w", int32_t, int32_t)                                                        \
    FROM_ALL(X, u64, "d", uint64_t, uint64_t)                                                      \
    FROM_ALL(X, s64, "d", int64_t, int64_t)

/* To floating point, to nearest even. */
#define REAL_FROM(X, to, form, T, from, from_form, held, S)                                        \
    X(cvt_##to##_##from, "cvt.rn." #to "." #from, form ":" from_form, held, S, T, (T)x)
#define REAL_FROM_ALL(X, to, form, T)                                                              \
    REAL_FROM(X, to, form, T, u8, "b", uint32_t, uint8_t)                                          \
    REAL_FROM(X, to, form, T, s8, "b", uint32_t, int8_t)                                           \
    REAL_FROM(X, to, form, T, u16, "h", uint32_t, uint16_t)                                        \
    REAL_FROM(X, to, form, T, s16, "h", uint32_t, int16_t)                                         \
    REAL_FROM(X, to, form, T, u32, "w", uint32_t, uint32_t)                                        \
    REAL_FROM(X, to, form, T, s32, "w", uint32_t, int32_t)                                         \
    REAL_FROM(X, to, form, T, u64, "d", uint64_t, uint64_t)                                        \
    REAL_FROM(X, to, form, T, s64, "d", uint64_t, int64_t)

/* Rounds to a whole number in a direction, then to the type; the bounds are the first numbers that
 * do not fit. */
#define WITHIN(T, whole, least, beyond, most)                                                      \
    (x != x ? (T)0 : (whole) <= (least) ? (T)(least) : (whole) >= (beyond) ? (T)(most) : (T)(whole))
#define WHOLE_OF(X, to, form, result, T, from, from_form, S, suffix, least, beyond, most)          \
    X(cvt_rni_##to##_##from, "cvt.rni." #to "." #from, form ":" from_form, S, S, result,           \
      WITHIN(T, rint##suffix(x), least, beyond, most))                                             \
    X(cvt_rzi_##to##_##from, "cvt.rzi." #to "." #from, form ":" from_form, S, S, result,           \
      WITHIN(T, trunc##suffix(x), least, beyond, most))                                            \
    X(cvt_rmi_##to##_##from, "cvt.rmi." #to "." #from, form ":" from_form, S, S, result,           \
      WITHIN(T, floor##suffix(x), least, beyond, most))                                            \
    X(cvt_rpi_##to##_##from, "cvt.rpi." #to "." #from, form ":" from_form, S, S, result,           \
      WITHIN(T, ceil##suffix(x), least, beyond, most))
#define WHOLE_ALL(X, from, from_form, S, suffix)                                                   \
    WHOLE_OF(X, u8, "b", uint32_t, uint8_t, from, from_form, S, suffix, 0, 256, UINT8_MAX)         \
    WHOLE_OF(X, u16, "h", uint32_t, uint16_t, from, from_form, S, suffix, 0, 65536, UINT16_MAX)    \
    WHOLE_OF(X, u32, "w", uint32_t, uint32_t, from, from_form, S, suffix, 0, (S)0x1p32,            \
             UINT32_MAX)                                                                           \
    WHOLE_OF(X, s32, "w", int32_t, int32_t, from, from_form, S, suffix, -(S)0x1p31, (S)0x1p31,     \
             INT32_MAX)                                                                            \
    WHOLE_OF(X, u64, "d", uint64_t, uint64_t, from, from_form, S, suffix, 0, (S)0x1p64,            \
             UINT64_MAX)                                                                           \
    WHOLE_OF(X, s64, "d", int64_t, int64_t, from, from_form, S, suffix, -(S)0x1p63, (S)0x1p63,     \
             INT64_MAX)

#define REALS(X)                                                                                   \
    REAL_FROM_ALL(X, f32, "w", float)                                                              \
    REAL_FROM_ALL(X, f64, "d", double)                                                             \
    WHOLE_ALL(X, f32, "w", float, f)                                                               \
    WHOLE_ALL(X, f64, "d", double, )                                                               \
    X(cvt_f64_f32, "cvt.f64.f32", "d:w", float, float, double, x)                                  \
    X(cvt_f32_f64, "cvt.rn.f32.f64", "w:d", double, double, float, x)                              \
    X(cvt_rni_f32, "cvt.rni.f32.f32", "w:w", float, float, float, rintf(x))                        \
    X(cvt_rzi_f32, "cvt.rzi.f32.f32", "w:w", float, float, float, truncf(x))                       \
    X(cvt_rmi_f32, "cvt.rmi.f32.f32", "w:w", float, float, float, floorf(x))                       \
    X(cvt_rpi_f32, "cvt.rpi.f32.f32", "w:w", float, float, float, ceilf(x))                        \
    X(cvt_sat_f32, "cvt.sat.f32.f32", "w:w", float, float, float, x > 0 ? (x < 1 ? x : 1) : 0)

/* To bf16, of which every NaN is 0x7fff ("Conversion Instructions: cvt"). */
static inline uint32_t bf16_of(float x)
{
    uint32_t bits = half_bits_of(x);

    return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}

static inline uint32_t f16_of(float x)
{
    return x != x ? 0x7fffu : half_narrow(x);
}

/* The first source of a pair becomes the upper half. */
#define HALVES(X)                                                                                  \
    X(cvt_f32_f16, "cvt.f32.f16", "w:h", uint32_t, uint16_t, float, half_widen(x))                 \
    X(cvt_f32_bf16, "cvt.f32.bf16", "w:h", uint32_t, uint32_t, float, half_float_of(x << 16))      \
    X(cvt_f16_f32, "cvt.rn.f16.f32", "h:w", float, float, uint32_t, f16_of(x))                     \
    X(cvt_bf16_f32, "cvt.rn.bf16.f32", "h:w", float, float, uint32_t, bf16_of(x))
#define PAIRS(X)                                                                                   \
    X(cvt_f16x2_f32, "cvt.rn.f16x2.f32", "w:ww", float, float, uint32_t,                           \
      f16_of(x) << 16 | f16_of(y))                                                                 \
    X(cvt_bf16x2_f32, "cvt.rn.bf16x2.f32", "w:ww", float, float, uint32_t,                         \
      bf16_of(x) << 16 | bf16_of(y))

#define DEFINE_UNARY(function, name, form, held, type, result, expression)                         \
    UNARY(function, held, type, result, expression)
#define DEFINE_BINARY(function, name, form, held, type, result, expression)                        \
    BINARY(function, held, type, result, expression)
INTEGERS(DEFINE_UNARY)
REALS(DEFINE_UNARY)
HALVES(DEFINE_UNARY)
PAIRS(DEFINE_BINARY)

#define ROW(function, name, form, ...) { name, function, form },
static const struct opcode rows[] = { INTEGERS(ROW) REALS(ROW) HALVES(ROW) PAIRS(ROW) };
const struct opcode_table opcodes_convert = { rows, ARRAY_SIZE(rows) };
