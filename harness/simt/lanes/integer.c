/* Integers and bits. Sums and products wrap; the compiler is told so (-fwrapv). */
#include "harness/simt/lanes/lanes.h"

__extension__ typedef unsigned __int128 very_long;
__extension__ typedef __int128 signed_very_long;

/* x / 0 has all bits set, and x % 0 is x, as GPUs have it; PTX leaves both open. */
#define QUOTIENT        (y == 0 ? -1 : y == -1 ? 0 - x : x / y)
#define REMAINDER       (y == 0 ? x : y == -1 ? 0 : x % y)
#define QUOTIENT_PLAIN  (y == 0 ? ~(y - y) : x / y)
#define REMAINDER_PLAIN (y == 0 ? x : x % y)
#define LESSER          (x < y ? x : y)
#define GREATER         (x > y ? x : y)

/* function, name, form, type of a lane, type of the number, type of the result, expression */
#define BINARIES_OF(X, t, form, held, T, quotient, remainder)                                      \
    X(add_##t, "add." #t, form, held, T, held, x + y)                                              \
    X(sub_##t, "sub." #t, form, held, T, held, x - y)                                              \
    X(mul_##t, "mul.lo." #t, form, held, T, held, x *y)                                            \
    X(div_##t, "div." #t, form, held, T, held, quotient)                                           \
    X(rem_##t, "rem." #t, form, held, T, held, remainder)                                          \
    X(min_##t, "min." #t, form, held, T, held, LESSER)                                             \
    X(max_##t, "max." #t, form, held, T, held, GREATER)
#define LOGIC_OF(X, t, form, held)                                                                 \
    X(and_##t, "and." #t, form, held, held, held, x &y)                                            \
    X(or_##t, "or." #t, form, held, held, held, x | y)                                             \
    X(xor_##t, "xor." #t, form, held, held, held, x ^ y)
#define BINARIES(X)                                                                                \
    BINARIES_OF(X, u16, "h:hh", uint32_t, uint16_t, QUOTIENT_PLAIN, REMAINDER_PLAIN)               \
    BINARIES_OF(X, s16, "h:hh", uint32_t, int16_t, QUOTIENT, REMAINDER)                            \
    BINARIES_OF(X, u32, "w:ww", uint32_t, uint32_t, QUOTIENT_PLAIN, REMAINDER_PLAIN)               \
    BINARIES_OF(X, s32, "w:ww", int32_t, int32_t, QUOTIENT, REMAINDER)                             \
    BINARIES_OF(X, u64, "d:dd", uint64_t, uint64_t, QUOTIENT_PLAIN, REMAINDER_PLAIN)               \
    BINARIES_OF(X, s64, "d:dd", int64_t, int64_t, QUOTIENT, REMAINDER)                             \
    LOGIC_OF(X, pred, "p:pp", uint32_t)                                                            \
    LOGIC_OF(X, b16, "h:hh", uint32_t)                                                             \
    LOGIC_OF(X, b32, "w:ww", uint32_t)                                                             \
    LOGIC_OF(X, b64, "d:dd", uint64_t)                                                             \
    X(high_u32, "mul.hi.u32", "w:ww", uint32_t, uint64_t, uint32_t, x *y >> 32)                    \
    X(high_s32, "mul.hi.s32", "w:ww", int32_t, int64_t, int32_t, x *y >> 32)                       \
    X(high_u64, "mul.hi.u64", "d:dd", uint64_t, very_long, uint64_t, x *y >> 64)                   \
    X(high_s64, "mul.hi.s64", "d:dd", int64_t, signed_very_long, int64_t, x *y >> 64)              \
    X(wide_u16, "mul.wide.u16", "w:hh", uint32_t, uint16_t, uint32_t, (uint32_t)x *(uint32_t)y)    \
    X(wide_s16, "mul.wide.s16", "w:hh", uint32_t, int16_t, uint32_t, (int32_t)x *(int32_t)y)       \
    X(wide_u32, "mul.wide.u32", "d:ww", uint32_t, uint64_t, uint64_t, x *y)                        \
    X(wide_s32, "mul.wide.s32", "d:ww", int32_t, int64_t, int64_t, x *y)

#define UNARIES(X)                                                                                 \
    X(neg_s16, "neg.s16", "h:h", uint32_t, int16_t, uint32_t, 0 - x)                               \
    X(neg_s32, "neg.s32", "w:w", int32_t, int32_t, int32_t, 0 - x)                                 \
    X(neg_s64, "neg.s64", "d:d", int64_t, int64_t, int64_t, 0 - x)                                 \
    X(abs_s16, "abs.s16", "h:h", uint32_t, int16_t, uint32_t, x < 0 ? 0 - x : x)                   \
    X(abs_s32, "abs.s32", "w:w", int32_t, int32_t, int32_t, x < 0 ? 0 - x : x)                     \
    X(abs_s64, "abs.s64", "d:d", int64_t, int64_t, int64_t, x < 0 ? 0 - x : x)                     \
    X(not_pred, "not.pred", "p:p", uint32_t, uint32_t, uint32_t, ~x)                               \
    X(not_b16, "not.b16", "h:h", uint32_t, uint32_t, uint32_t, ~x)                                 \
    X(not_b32, "not.b32", "w:w", uint32_t, uint32_t, uint32_t, ~x)                                 \
    X(not_b64, "not.b64", "d:d", uint64_t, uint64_t, uint64_t, ~x)                                 \
    X(popc_b32, "popc.b32", "w:w", uint32_t, uint32_t, uint32_t, __builtin_popcount(x))            \
    X(popc_b64, "popc.b64", "w:d", uint64_t, uint64_t, uint32_t, __builtin_popcountll(x))          \
    X(clz_b32, "clz.b32", "w:w", uint32_t, uint32_t, uint32_t, x ? __builtin_clz(x) : 32)          \
    X(clz_b64, "clz.b64", "w:d", uint64_t, uint64_t, uint32_t, x ? __builtin_clzll(x) : 64)        \
    X(brev_b32, "brev.b32", "w:w", uint32_t, uint32_t, uint32_t, reversed(x))

static inline uint32_t reversed(uint32_t x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}

/* Shifts by more than a number has bits shift all of them out. The amount is a word. */
#define SHIFTED(bits, by, none) (y >= (bits) ? (none) : (by))
#define SHIFT_ROWS(X)                                                                              \
    X(shl_b16, "shl.b16", "h:hw", uint32_t, uint16_t, SHIFTED(16, (uint32_t)x << y, 0))            \
    X(shl_b32, "shl.b32", "w:ww", uint32_t, uint32_t, SHIFTED(32, x << y, 0))                      \
    X(shl_b64, "shl.b64", "d:dw", uint64_t, uint64_t, SHIFTED(64, x << y, 0))                      \
    X(shr_b16, "shr.b16", "h:hw", uint32_t, uint16_t, SHIFTED(16, x >> y, 0))                      \
    X(shr_b32, "shr.b32", "w:ww", uint32_t, uint32_t, SHIFTED(32, x >> y, 0))                      \
    X(shr_b64, "shr.b64", "d:dw", uint64_t, uint64_t, SHIFTED(64, x >> y, 0))                      \
    X(shr_u16, "shr.u16", "h:hw", uint32_t, uint16_t, SHIFTED(16, x >> y, 0))                      \
    X(shr_u32, "shr.u32", "w:ww", uint32_t, uint32_t, SHIFTED(32, x >> y, 0))                      \
    X(shr_u64, "shr.u64", "d:dw", uint64_t, uint64_t, SHIFTED(64, x >> y, 0))                      \
    X(shr_s16, "shr.s16", "h:hw", uint32_t, int16_t, x >> SHIFTED(16, y, 15))                      \
    X(shr_s32, "shr.s32", "w:ww", int32_t, int32_t, x >> SHIFTED(32, y, 31))                       \
    X(shr_s64, "shr.s64", "d:dw", int64_t, int64_t, x >> SHIFTED(64, y, 63))

#define SHIFT(function, name, form, held, type, expression)                                        \
    static void function(struct warp *warp, const struct instruction *instruction)                 \
    {                                                                                              \
        held *d = REGISTER(held, instruction->d[0]);                                               \
        const held *a = REGISTER(held, instruction->s[0]);                                         \
        const uint32_t *b = REGISTER(uint32_t, instruction->s[1]);                                 \
        LANES(held, d, type x = (type)a[l]; uint32_t y = b[l]; v = (held)(expression))             \
    }

/* Fields of bits: y is where a field begins, z how long it is; only their lower 8 bits count. */
static inline uint32_t field_mask(uint32_t bits)
{
    return bits >= 32 ? UINT32_MAX : (UINT32_C(1) << bits) - 1;
}

static inline uint32_t field_u32(uint32_t x, uint32_t y, uint32_t z)
{
    uint32_t at = y & 255;

    return (at >= 32 ? 0 : x >> at) & field_mask(z & 255);
}

static inline uint32_t field_s32(uint32_t x, uint32_t y, uint32_t z)
{
    uint32_t at = y & 255, bits = z & 255, last = at + bits - 1;
    uint32_t sign = bits == 0 ? 0 : x >> (last > 31 ? 31 : last) & 1;

    return field_u32(x, y, z) |
           (sign ? ~field_mask(at + bits > 32 ? at > 31 ? 0 : 32 - at : bits) : 0);
}

/* Eight bytes, of y above x, from which four are chosen by four numbers of 4 bits; the upper bit of
 * one copies the sign. */
static inline uint32_t permuted(uint32_t x, uint32_t y, uint32_t z)
{
    uint64_t both = (uint64_t)y << 32 | x;
    uint32_t result = 0;

    for (int byte = 0; byte < 4; byte++) {
        uint32_t choice = z >> 4 * byte & 15;
        uint32_t chosen = (uint32_t)(both >> 8 * (choice & 7)) & 255;
        result |= (choice & 8 ? (chosen & 128 ? 255u : 0u) : chosen) << 8 * byte;
    }
    return result;
}

#define TERNARIES(X)                                                                               \
    X(mad_u32, "mad.lo.u32", "w:www", uint32_t, uint32_t, uint32_t, uint32_t, x *y + z)            \
    X(mad_s32, "mad.lo.s32", "w:www", uint32_t, uint32_t, uint32_t, uint32_t, x *y + z)            \
    X(mad_u64, "mad.lo.u64", "d:ddd", uint64_t, uint64_t, uint64_t, uint64_t, x *y + z)            \
    X(mad_s64, "mad.lo.s64", "d:ddd", uint64_t, uint64_t, uint64_t, uint64_t, x *y + z)            \
    X(mad_u16, "mad.lo.u16", "h:hhh", uint32_t, uint32_t, uint32_t, uint32_t, x *y + z)            \
    X(mad_s16, "mad.lo.s16", "h:hhh", uint32_t, uint32_t, uint32_t, uint32_t, x *y + z)            \
    X(mad_wide_u32, "mad.wide.u32", "d:wwd", uint32_t, uint64_t, uint64_t, uint64_t, x *y + z)     \
    X(mad_wide_s32, "mad.wide.s32", "d:wwd", int32_t, int64_t, int64_t, int64_t, x *y + z)         \
    X(bfe_u32, "bfe.u32", "w:www", uint32_t, uint32_t, uint32_t, uint32_t, field_u32(x, y, z))     \
    X(bfe_s32, "bfe.s32", "w:www", uint32_t, uint32_t, uint32_t, uint32_t, field_s32(x, y, z))     \
    X(prmt_b32, "prmt.b32", "w:www", uint32_t, uint32_t, uint32_t, uint32_t, permuted(x, y, z))    \
    X(shf_l_wrap, "shf.l.wrap.b32", "w:www", uint32_t, uint32_t, uint32_t, uint32_t,               \
      (uint32_t)((((uint64_t)y << 32 | x) << (z & 31)) >> 32))                                     \
    X(shf_r_wrap, "shf.r.wrap.b32", "w:www", uint32_t, uint32_t, uint32_t, uint32_t,               \
      (uint32_t)(((uint64_t)y << 32 | x) >> (z & 31)))                                             \
    X(shf_l_clamp, "shf.l.clamp.b32", "w:www", uint32_t, uint32_t, uint32_t, uint32_t,             \
      (uint32_t)((((uint64_t)y << 32 | x) << (z < 32 ? z : 32)) >> 32))                            \
    X(shf_r_clamp, "shf.r.clamp.b32", "w:www", uint32_t, uint32_t, uint32_t, uint32_t,             \
      (uint32_t)(((uint64_t)y << 32 | x) >> (z < 32 ? z : 32)))

/* The fourth source says what the three bits of a place give, as a table of 8 bits. */
static void lop3_b32(struct warp *warp, const struct instruction *instruction)
{
    uint32_t *d = REGISTER(uint32_t, instruction->d[0]);
    const uint32_t *a = REGISTER(uint32_t, instruction->s[0]),
                   *b = REGISTER(uint32_t, instruction->s[1]);
    const uint32_t *c = REGISTER(uint32_t, instruction->s[2]),
                   *table = REGISTER(uint32_t, instruction->s[3]);

    LANES(
        uint32_t, d, uint32_t t = table[l]; v = 0; for (uint32_t i = 0; i < 8; i++) {
            uint32_t place =
                (i & 4 ? a[l] : ~a[l]) & (i & 2 ? b[l] : ~b[l]) & (i & 1 ? c[l] : ~c[l]);
            v |= t >> i & 1 ? place : 0;
        })
}

#define DEFINE_BINARY(function, name, form, held, type, result, expression)                        \
    BINARY(function, held, type, result, expression)
#define DEFINE_UNARY(function, name, form, held, type, result, expression)                         \
    UNARY(function, held, type, result, expression)
#define DEFINE_TERNARY(function, name, form, held, type, third, result, expression)                \
    TERNARY(function, held, type, third, result, expression)
BINARIES(DEFINE_BINARY)
UNARIES(DEFINE_UNARY)
SHIFT_ROWS(SHIFT)
TERNARIES(DEFINE_TERNARY)

#define ROW(function, name, form, ...) { name, function, form },
static const struct opcode rows[] = {
    BINARIES(ROW) UNARIES(ROW) SHIFT_ROWS(ROW) TERNARIES(ROW){ "lop3.b32", lop3_b32, "w:wwww" },
};
const struct opcode_table opcodes_integer = { rows, ARRAY_SIZE(rows) };
