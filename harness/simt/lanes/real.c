/* Floating point. Nothing is fused but what says fma, rounding is to nearest even, and subnormal
 * numbers count unless an instruction says ftz: the machine sets the processor so, and the compiler
 * is told not to contract. */
#include "harness/simt/code/lanes.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

/* A number below 2^-126 is a zero of its sign to instructions that say ftz. */
static inline float flushed(float x)
{
    return fabsf(x) < 0x1p-126f ? x * 0.0f : x;
}

/* The other one, if one is NaN. */
#define LESSER  (x < y ? x : x > y ? y : x == y ? (signbit(x) ? x : y) : x != x ? y : x)
#define GREATER (x > y ? x : x < y ? y : x == y ? (signbit(x) ? y : x) : x != x ? y : x)

#define BINARIES(X)                                                                                \
    X(add_f32, "add.f32", "w:ww", float, x + y)                                                    \
    X(add_rn_f32, "add.rn.f32", "w:ww", float, x + y)                                              \
    X(sub_f32, "sub.f32", "w:ww", float, x - y)                                                    \
    X(sub_rn_f32, "sub.rn.f32", "w:ww", float, x - y)                                              \
    X(mul_f32, "mul.f32", "w:ww", float, x *y)                                                     \
    X(mul_rn_f32, "mul.rn.f32", "w:ww", float, x *y)                                               \
    X(div_f32, "div.rn.f32", "w:ww", float, x / y)                                                 \
    X(min_f32, "min.f32", "w:ww", float, LESSER)                                                   \
    X(max_f32, "max.f32", "w:ww", float, GREATER)                                                  \
    X(copysign_f32, "copysign.f32", "w:ww", float, copysignf(y, x))                                \
    X(div_approx, "div.approx.f32", "w:ww", float, x / y)                                          \
    X(div_full, "div.full.f32", "w:ww", float, x / y)                                              \
    X(add_ftz, "add.ftz.f32", "w:ww", float, flushed(flushed(x) + flushed(y)))                     \
    X(sub_ftz, "sub.ftz.f32", "w:ww", float, flushed(flushed(x) - flushed(y)))                     \
    X(mul_ftz, "mul.ftz.f32", "w:ww", float, flushed(flushed(x) * flushed(y)))                     \
    X(div_approx_ftz, "div.approx.ftz.f32", "w:ww", float, flushed(flushed(x) / flushed(y)))       \
    X(min_nan_f32, "min.NaN.f32", "w:ww", float, x != x || y != y ? NAN : LESSER)                  \
    X(max_nan_f32, "max.NaN.f32", "w:ww", float, x != x || y != y ? NAN : GREATER)                 \
    X(copysign_f64, "copysign.f64", "d:dd", double, copysign(y, x))                                \
    X(add_f64, "add.f64", "d:dd", double, x + y)                                                   \
    X(add_rn_f64, "add.rn.f64", "d:dd", double, x + y)                                             \
    X(sub_f64, "sub.f64", "d:dd", double, x - y)                                                   \
    X(mul_f64, "mul.f64", "d:dd", double, x *y)                                                    \
    X(mul_rn_f64, "mul.rn.f64", "d:dd", double, x *y)                                              \
    X(div_f64, "div.rn.f64", "d:dd", double, x / y)                                                \
    X(min_f64, "min.f64", "d:dd", double, LESSER)                                                  \
    X(max_f64, "max.f64", "d:dd", double, GREATER)

#define UNARIES(X)                                                                                 \
    X(neg_f32, "neg.f32", "w:w", float, -x)                                                        \
    X(abs_f32, "abs.f32", "w:w", float, fabsf(x))                                                  \
    X(sqrt_f32, "sqrt.rn.f32", "w:w", float, sqrtf(x))                                             \
    X(rcp_f32, "rcp.rn.f32", "w:w", float, 1 / x)                                                  \
    X(rcp_approx, "rcp.approx.f32", "w:w", float, 1 / x)                                           \
    X(rcp_approx_ftz, "rcp.approx.ftz.f32", "w:w", float, flushed(1 / flushed(x)))                 \
    X(sqrt_approx, "sqrt.approx.f32", "w:w", float, sqrtf(x))                                      \
    X(sqrt_approx_ftz, "sqrt.approx.ftz.f32", "w:w", float, sqrtf(flushed(x)))                     \
    X(rsqrt_approx, "rsqrt.approx.f32", "w:w", float, 1 / sqrtf(x))                                \
    X(rsqrt_approx_ftz, "rsqrt.approx.ftz.f32", "w:w", float, 1 / sqrtf(flushed(x)))               \
    X(ex2_approx, "ex2.approx.f32", "w:w", float, power_of_two(x))                                 \
    X(ex2_approx_ftz, "ex2.approx.ftz.f32", "w:w", float, flushed(power_of_two(flushed(x))))       \
    X(lg2_approx, "lg2.approx.f32", "w:w", float, log2f(x))                                        \
    X(lg2_approx_ftz, "lg2.approx.ftz.f32", "w:w", float, log2f(flushed(x)))                       \
    X(sin_approx, "sin.approx.f32", "w:w", float, sinf(x))                                         \
    X(cos_approx, "cos.approx.f32", "w:w", float, cosf(x))                                         \
    X(tanh_approx, "tanh.approx.f32", "w:w", float, tanhf(x))                                      \
    X(flush_f32, "flush.f32", "w:w", float, flushed(x)) /* a helper's */                           \
    X(neg_f64, "neg.f64", "d:d", double, -x)                                                       \
    X(abs_f64, "abs.f64", "d:d", double, fabs(x))                                                  \
    X(sqrt_f64, "sqrt.rn.f64", "d:d", double, sqrt(x))                                             \
    X(rcp_f64, "rcp.rn.f64", "d:d", double, 1 / x)                                                 \
    X(rcp_approx_f64, "rcp.approx.ftz.f64", "d:d", double, 1 / x)                                  \
    X(rsqrt_f64, "rsqrt.approx.f64", "d:d", double, 1 / sqrt(x))                                   \
    X(rsqrt_ftz_f64, "rsqrt.approx.ftz.f64", "d:d", double, 1 / sqrt(x))

/* Instructions that do not round to nearest: the processor is set to round so. */
#define DIRECTED_OF(X, mode, way, t, one, two, three, T, suffix)                                   \
    X(add_##mode##_##t, BINARY, way, "add." #mode "." #t, two, T, x + y)                           \
    X(sub_##mode##_##t, BINARY, way, "sub." #mode "." #t, two, T, x - y)                           \
    X(mul_##mode##_##t, BINARY, way, "mul." #mode "." #t, two, T, x *y)                            \
    X(div_##mode##_##t, BINARY, way, "div." #mode "." #t, two, T, x / y)                           \
    X(rcp_##mode##_##t, UNARY, way, "rcp." #mode "." #t, one, T, 1 / x)                            \
    X(sqrt_##mode##_##t, UNARY, way, "sqrt." #mode "." #t, one, T, sqrt##suffix(x))                \
    X(fma_##mode##_##t, TERNARY_OF, way, "fma." #mode "." #t, three, T,                            \
      __builtin_fma##suffix(x, y, z))
#define DIRECTED_BOTH(X, mode, way)                                                                \
    DIRECTED_OF(X, mode, way, f32, "w:w", "w:ww", "w:www", float, f)                               \
    DIRECTED_OF(X, mode, way, f64, "d:d", "d:dd", "d:ddd", double, )
#define DIRECTED(X)                                                                                \
    DIRECTED_BOTH(X, rm, FE_DOWNWARD)                                                              \
    DIRECTED_BOTH(X, rp, FE_UPWARD) DIRECTED_BOTH(X, rz, FE_TOWARDZERO)

#define TERNARIES(X)                                                                               \
    X(fma_f32, "fma.rn.f32", "w:www", float, __builtin_fmaf(x, y, z))                              \
    X(fma_ftz, "fma.rn.ftz.f32", "w:www", float,                                                   \
      flushed(__builtin_fmaf(flushed(x), flushed(y), flushed(z))))                                 \
    X(mad_f32, "mad.rn.f32", "w:www", float, __builtin_fmaf(x, y, z))                              \
    X(fma_f64, "fma.rn.f64", "d:ddd", double, __builtin_fma(x, y, z))

/* 2^n, of -126 to 127. */
static inline float power_of_whole(int n)
{
    uint32_t bits = (uint32_t)(n + 127) << 23;
    float power;

    memcpy(&power, &bits, sizeof power);
    return power;
}

/* 2^x within 2 units in the last place, as the instruction promises. x is taken apart into a whole
 * number n and a rest r within one half, whose power is the series of e^(r ln 2): the coefficients
 * are ln(2)^k / k!, and the first one that is left out adds less than 2^-27. 2^n is two factors, as
 * it may be subnormal. */
static inline float power_of_two(float x)
{
    static const float coefficient[] = { 1.5403530e-4f, 1.3333558e-3f, 9.6181291e-3f,
                                         5.5504109e-2f, 2.4022651e-1f, 6.9314718e-1f };
    float inside = x < -160 ? -160 : x > 136 ? 136 : x == x ? x : 0;
    float whole = rintf(inside), rest = inside - whole, sum = 1.5252734e-5f;
    int n = (int)whole, half = n / 2;
    float result;

    for (int k = 0; k < 6; k++) sum = __builtin_fmaf(sum, rest, coefficient[k]);
    sum = __builtin_fmaf(sum, rest, 1);
    result = sum * power_of_whole(half) * power_of_whole(n - half);
    return x != x ? x : result;
}

#define TERNARY_OF(function, held, type, result, expression)                                       \
    TERNARY(function, held, type, type, result, expression)
#define DEFINE_DIRECTED(function, shape, way, name, form, T, expression)                           \
    shape(nearest_##function, T, T, T, expression) static void function(                           \
        struct warp *warp, const struct instruction *instruction)                                  \
    {                                                                                              \
        fesetround(way);                                                                           \
        nearest_##function(warp, instruction);                                                     \
        fesetround(FE_TONEAREST);                                                                  \
    }
#define DEFINE_BINARY(function, name, form, T, expression) BINARY(function, T, T, T, expression)
#define DEFINE_UNARY(function, name, form, T, expression)  UNARY(function, T, T, T, expression)
#define DEFINE_TERNARY(function, name, form, T, expression)                                        \
    TERNARY(function, T, T, T, T, expression)
BINARIES(DEFINE_BINARY)
UNARIES(DEFINE_UNARY)
TERNARIES(DEFINE_TERNARY)
#pragma GCC push_options
#pragma GCC optimize("no-inline", "rounding-math")
DIRECTED(DEFINE_DIRECTED)
#pragma GCC pop_options

#define ROW(function, name, form, ...)                      { name, function, form },
#define ROW_DIRECTED(function, shape, way, name, form, ...) { name, function, form },
static const struct opcode rows[] = { BINARIES(ROW) DIRECTED(ROW_DIRECTED) UNARIES(ROW)
                                          TERNARIES(ROW) };
const struct opcode_table opcodes_real = { rows, ARRAY_SIZE(rows) };
