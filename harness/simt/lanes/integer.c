/* Integers and bits. Sums and products wrap; the compiler is told so (-fwrapv). */
#include "harness/simt/code/lanes.h"

__extension__ typedef unsigned __int128 very_long;
__extension__ typedef __int128 signed_very_long;

/* x / 0 has all bits set, and x % 0 is x, as GPUs have it; PTX leaves both open. */
#define QUOTIENT        (y == 0 ? -1 : y == -1 ? 0 - x : x / y)
#define REMAINDER       (y == 0 ? x : y == -1 ? 0 : x % y)
#define QUOTIENT_PLAIN  (y == 0 ? ~(y - y) : x / y)
#define REMAINDER_PLAIN (y == 0 ? x : x % y)
#define SATURATED(x)    ((x) < INT32_MIN ? INT32_MIN : (x) > INT32_MAX ? INT32_MAX : (x))
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
    X(add_sat, "add.sat.s32", "w:ww", int32_t, int64_t, int32_t, SATURATED(x + y))                 \
    X(sub_sat, "sub.sat.s32", "w:ww", int32_t, int64_t, int32_t, SATURATED(x - y))                 \
    X(high_u16, "mul.hi.u16", "h:hh", uint32_t, uint16_t, uint32_t,                                \
      (uint32_t)x *(uint32_t)y >> 16)                                                              \
    X(high_s16, "mul.hi.s16", "h:hh", uint32_t, int16_t, uint32_t, (int32_t)x *(int32_t)y >> 16)   \
    X(mul24_u32, "mul24.lo.u32", "w:ww", uint32_t, uint32_t, uint32_t,                             \
      (x & 0xffffff) * (y & 0xffffff))                                                             \
    X(mul24_s32, "mul24.lo.s32", "w:ww", uint32_t, int32_t, uint32_t,                              \
      (x << 8 >> 8) * (y << 8 >> 8))                                                               \
    X(wide_u16, "mul.wide.u16", "w:hh", uint32_t, uint16_t, uint32_t, (uint32_t)x *(uint32_t)y)    \
    X(wide_s16, "mul.wide.s16", "w:hh", uint32_t, int16_t, uint32_t, (int32_t)x *(int32_t)y)       \
    X(wide_u32, "mul.wide.u32", "d:ww", uint32_t, uint64_t, uint64_t, x *y)                        \
    X(wide_s32, "mul.wide.s32", "d:ww", int32_t, int64_t, int64_t, x *y)                           \
    X(bmsk_clamp, "bmsk.clamp.b32", "w:ww", uint32_t, uint32_t, uint32_t, bit_mask(x, y))          \
    X(bmsk_wrap, "bmsk.wrap.b32", "w:ww", uint32_t, uint32_t, uint32_t, bit_mask(x & 31, y & 31))

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
    X(cnot_b32, "cnot.b32", "w:w", uint32_t, uint32_t, uint32_t, x == 0)                           \
    X(brev_b64, "brev.b64", "d:d", uint64_t, uint64_t, uint64_t,                                   \
      (uint64_t)reversed((uint32_t)x) << 32 | reversed((uint32_t)(x >> 32)))                       \
    X(popc_b32, "popc.b32", "w:w", uint32_t, uint32_t, uint32_t, __builtin_popcount(x))            \
    X(popc_b64, "popc.b64", "w:d", uint64_t, uint64_t, uint32_t, __builtin_popcountll(x))          \
    X(clz_b32, "clz.b32", "w:w", uint32_t, uint32_t, uint32_t, x ? __builtin_clz(x) : 32)          \
    X(clz_b64, "clz.b64", "w:d", uint64_t, uint64_t, uint32_t, x ? __builtin_clzll(x) : 64)        \
    X(brev_b32, "brev.b32", "w:w", uint32_t, uint32_t, uint32_t, reversed(x))                      \
    X(bfind_u32, "bfind.u32", "w:w", uint32_t, uint32_t, uint32_t, highest(x))                     \
    X(bfind_s32, "bfind.s32", "w:w", int32_t, int32_t, uint32_t, highest((uint32_t)(x ^ x >> 31))) \
    X(bfind_u64, "bfind.u64", "w:d", uint64_t, uint64_t, uint32_t, highest(x))                     \
    X(bfind_s64, "bfind.s64", "w:d", int64_t, int64_t, uint32_t, highest((uint64_t)(x ^ x >> 63))) \
    X(bfind_up_u32, "bfind.shiftamt.u32", "w:w", uint32_t, uint32_t, uint32_t,                     \
      x ? 31 - highest(x) : UINT32_MAX)                                                            \
    X(bfind_up_u64, "bfind.shiftamt.u64", "w:d", uint64_t, uint64_t, uint32_t,                     \
      x ? 63 - highest(x) : UINT32_MAX)

/* The place of the highest bit; all ones if there is none. */
static inline uint32_t highest(uint64_t x)
{
    return x ? 63 - (uint32_t)__builtin_clzll(x) : UINT32_MAX;
}

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

/* The bits from place a on, b of them; in a mode that wraps only their lower 5 bits count. */
static inline uint32_t bit_mask(uint32_t a, uint32_t b)
{
    uint32_t from = a >= 32 ? 0 : UINT32_MAX << a;

    return a >= 32 || b >= 32 || a + b >= 32 ? from : from & ~(UINT32_MAX << (a + b));
}

/* The sum of the products of four bytes. */
static inline uint32_t four_products(uint32_t x, uint32_t y, bool x_signed, bool y_signed)
{
    uint32_t sum = 0;

    for (int shift = 0; shift < 32; shift += 8) {
        uint32_t a = x >> shift & 255, b = y >> shift & 255;
        sum += (x_signed && a > 127 ? a - 256 : a) * (y_signed && b > 127 ? b - 256 : b);
    }
    return sum;
}

/* The sum of the differences of four bytes, without their signs. */
static inline uint32_t four_differences(uint32_t x, uint32_t y)
{
    uint32_t sum = 0;

    for (int shift = 0; shift < 32; shift += 8) {
        uint32_t a = x >> shift & 255, b = y >> shift & 255;
        sum += a > b ? a - b : b - a;
    }
    return sum;
}

#define TERNARIES(X)                                                                               \
    X(vabsdiff4_add, "vabsdiff4.u32.u32.u32.add", "w:www", uint32_t, uint32_t, uint32_t, uint32_t, \
      z + four_differences(x, y))                                                                  \
    X(mad_high_u32, "mad.hi.u32", "w:www", uint32_t, uint64_t, uint32_t, uint32_t,                 \
      (uint32_t)(x * y >> 32) + z)                                                                 \
    X(mad_high_s32, "mad.hi.s32", "w:www", int32_t, int64_t, uint32_t, uint32_t,                   \
      (uint32_t)(x * y >> 32) + z)                                                                 \
    X(mad_high_u64, "mad.hi.u64", "d:ddd", uint64_t, very_long, uint64_t, uint64_t,                \
      (uint64_t)(x * y >> 64) + z)                                                                 \
    X(mad_wide_u16, "mad.wide.u16", "w:hhw", uint32_t, uint16_t, uint32_t, uint32_t,               \
      (uint32_t)x *(uint32_t)y + z)                                                                \
    X(mad_wide_s16, "mad.wide.s16", "w:hhw", uint32_t, int16_t, uint32_t, uint32_t,                \
      (uint32_t)((int32_t)x * (int32_t)y) + z)                                                     \
    X(sad_u32, "sad.u32", "w:www", uint32_t, uint32_t, uint32_t, uint32_t,                         \
      z + (x > y ? x - y : y - x))                                                                 \
    X(sad_s32, "sad.s32", "w:www", int32_t, int32_t, uint32_t, uint32_t,                           \
      z + (x > y ? (uint32_t)x - (uint32_t)y : (uint32_t)y - (uint32_t)x))                         \
    X(dp4a_uu, "dp4a.u32.u32", "w:www", uint32_t, uint32_t, uint32_t, uint32_t,                    \
      z + four_products(x, y, false, false))                                                       \
    X(dp4a_us, "dp4a.u32.s32", "w:www", uint32_t, uint32_t, uint32_t, uint32_t,                    \
      z + four_products(x, y, false, true))                                                        \
    X(dp4a_su, "dp4a.s32.u32", "w:www", uint32_t, uint32_t, uint32_t, uint32_t,                    \
      z + four_products(x, y, true, false))                                                        \
    X(dp4a_ss, "dp4a.s32.s32", "w:www", uint32_t, uint32_t, uint32_t, uint32_t,                    \
      z + four_products(x, y, true, true))                                                         \
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

/* The lower bits of a take the place of some bits of b: from c on, d of them. */
#define INSERT(function, held)                                                                     \
    static void function(struct warp *warp, const struct instruction *instruction)                 \
    {                                                                                              \
        held *d = REGISTER(held, instruction->d[0]);                                               \
        const held *a = REGISTER(held, instruction->s[0]), *b = REGISTER(held, instruction->s[1]); \
        const uint32_t *from = REGISTER(uint32_t, instruction->s[2]),                              \
                       *length = REGISTER(uint32_t, instruction->s[3]);                            \
        const uint32_t most = 8 * sizeof(held);                                                    \
                                                                                                   \
        LANES(held, d, uint32_t at = from[l] & 255; uint32_t bits = length[l] & 255;               \
              held mask = bits >= most ? ~(held)0 : ((held)1 << bits) - 1;                         \
              v = at >= most ? b[l] : (b[l] & ~(mask << at)) | (a[l] & mask) << at)                \
    }
INSERT(bfi_b32, uint32_t)
INSERT(bfi_b64, uint64_t)

/* Numbers of several words: what goes beyond a word is kept for the next instruction. function,
 * name, form, type, the sign of what comes in (0: nothing does), whether it goes on, sum */
#define CARRIES_OF(X, t, T, two, three)                                                            \
    X(add_cc_##t, "add.cc." #t, two, T, 0, true, x + y)                                            \
    X(addc_##t, "addc." #t, two, T, 1, false, x + y)                                               \
    X(addc_cc_##t, "addc.cc." #t, two, T, 1, true, x + y)                                          \
    X(sub_cc_##t, "sub.cc." #t, two, T, 0, true, x - y)                                            \
    X(subc_##t, "subc." #t, two, T, -1, false, x - y)                                              \
    X(subc_cc_##t, "subc.cc." #t, two, T, -1, true, x - y)                                         \
    X(mad_cc_##t, "mad.lo.cc." #t, three, T, 0, true, (T)(x * y) + z)                              \
    X(madc_##t, "madc.lo." #t, three, T, 1, false, (T)(x * y) + z)                                 \
    X(madc_cc_##t, "madc.lo.cc." #t, three, T, 1, true, (T)(x * y) + z)
#define HIGH_CARRIES_OF(X, t, T, three)                                                            \
    X(mad_hi_cc_##t, "mad.hi.cc." #t, three, T, 0, true, (x * y >> 8 * sizeof(T)) + z)             \
    X(madc_hi_##t, "madc.hi." #t, three, T, 1, false, (x * y >> 8 * sizeof(T)) + z)                \
    X(madc_hi_cc_##t, "madc.hi.cc." #t, three, T, 1, true, (x * y >> 8 * sizeof(T)) + z)
#define CARRIES(X)                                                                                 \
    CARRIES_OF(X, u32, uint32_t, "w:ww", "w:www")                                                  \
    CARRIES_OF(X, s32, uint32_t, "w:ww", "w:www")                                                  \
    CARRIES_OF(X, u64, uint64_t, "d:dd", "d:ddd")                                                  \
    CARRIES_OF(X, s64, uint64_t, "d:dd", "d:ddd")                                                  \
    HIGH_CARRIES_OF(X, u32, uint32_t, "w:www")                                                     \
    HIGH_CARRIES_OF(X, u64, uint64_t, "d:ddd")
#define CARRY(function, name, form, T, in, goes_on, expression)                                    \
    static void function(struct warp *warp, const struct instruction *instruction)                 \
    {                                                                                              \
        T *d = REGISTER(T, instruction->d[0]);                                                     \
        const T *a = REGISTER(T, instruction->s[0]), *b = REGISTER(T, instruction->s[1]);          \
        const T *c = instruction->s[2] >= 0 ? REGISTER(T, instruction->s[2]) : a;                  \
        for (int l = 0; l < SIMT_LANES; l++) {                                                     \
            very_long x = a[l], y = b[l], z = c[l];                                                \
            very_long sum = (expression) + (very_long)(in)*warp->carry[l];                         \
            (void)z;                                                                               \
            if (!warp->lane[l])                                                                    \
                continue;                                                                          \
            d[l] = (T)sum;                                                                         \
            if (goes_on)                                                                           \
                warp->carry[l] = (uint32_t)(sum >> 8 * sizeof(T)) & 1;                             \
        }                                                                                          \
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
CARRIES(CARRY)

#define ROW(function, name, form, ...) { name, function, form },
static const struct opcode rows[] = {
    BINARIES(ROW) UNARIES(ROW) SHIFT_ROWS(ROW) TERNARIES(ROW)
        CARRIES(ROW){ "lop3.b32", lop3_b32, "w:wwww" },
    { "bfi.b32", bfi_b32, "w:wwww" },
    { "bfi.b64", bfi_b64, "d:ddww" },
};
const struct opcode_table opcodes_integer = { rows, ARRAY_SIZE(rows) };
