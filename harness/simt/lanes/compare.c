/* Comparisons and choices. A predicate is a word with all bits set, or none. */
#include "harness/simt/code/lanes.h"

#include <math.h>

#define COMPARISONS_OF(X, t, form, held, T)                                                        \
    X(eq_##t, "setp.eq." #t, form, held, T, x == y)                                                \
    X(ne_##t, "setp.ne." #t, form, held, T, x != y)                                                \
    X(lt_##t, "setp.lt." #t, form, held, T, x < y)                                                 \
    X(le_##t, "setp.le." #t, form, held, T, x <= y)                                                \
    X(gt_##t, "setp.gt." #t, form, held, T, x > y)                                                 \
    X(ge_##t, "setp.ge." #t, form, held, T, x >= y)
#define UNSIGNED_OF(X, t, form, held, T)                                                           \
    X(lo_##t, "setp.lo." #t, form, held, T, x < y)                                                 \
    X(ls_##t, "setp.ls." #t, form, held, T, x <= y)                                                \
    X(hi_##t, "setp.hi." #t, form, held, T, x > y)                                                 \
    X(hs_##t, "setp.hs." #t, form, held, T, x >= y)
#define BITS_OF(X, t, form, held, T)                                                               \
    X(eq_##t, "setp.eq." #t, form, held, T, x == y)                                                \
    X(ne_##t, "setp.ne." #t, form, held, T, x != y)
#define REAL_OF(comparison, expression, X, t, form, T)                                             \
    X(comparison##_##t, "setp." #comparison "." #t, form, T, T, expression)
#define REALS_OF(X, t, form, T) REAL_COMPARISONS(REAL_OF, X, t, form, T)

#define COMPARISONS(X)                                                                             \
    COMPARISONS_OF(X, u16, "p:hh", uint32_t, uint16_t)                                             \
    COMPARISONS_OF(X, s16, "p:hh", uint32_t, int16_t)                                              \
    COMPARISONS_OF(X, u32, "p:ww", uint32_t, uint32_t)                                             \
    COMPARISONS_OF(X, s32, "p:ww", int32_t, int32_t)                                               \
    COMPARISONS_OF(X, u64, "p:dd", uint64_t, uint64_t)                                             \
    COMPARISONS_OF(X, s64, "p:dd", int64_t, int64_t)                                               \
    UNSIGNED_OF(X, u16, "p:hh", uint32_t, uint16_t)                                                \
    UNSIGNED_OF(X, u32, "p:ww", uint32_t, uint32_t)                                                \
    UNSIGNED_OF(X, u64, "p:dd", uint64_t, uint64_t)                                                \
    BITS_OF(X, b16, "p:hh", uint32_t, uint16_t)                                                    \
    BITS_OF(X, b32, "p:ww", uint32_t, uint32_t)                                                    \
    BITS_OF(X, b64, "p:dd", uint64_t, uint64_t)                                                    \
    REALS_OF(X, f32, "p:ww", float)                                                                \
    REALS_OF(X, f64, "p:dd", double)

#define DEFINE(function, name, form, held, type, expression)                                       \
    BINARY(function, held, type, uint32_t, (expression) ? UINT32_MAX : 0)
COMPARISONS(DEFINE)

#define CHOOSE(function, held)                                                                     \
    static void function(struct warp *warp, const struct instruction *instruction)                 \
    {                                                                                              \
        held *d = REGISTER(held, instruction->d[0]);                                               \
        const held *a = REGISTER(held, instruction->s[0]), *b = REGISTER(held, instruction->s[1]); \
        const uint32_t *p = REGISTER(uint32_t, instruction->s[2]);                                 \
                                                                                                   \
        LANES(held, d, v = p[l] ? a[l] : b[l])                                                     \
    }
CHOOSE(choose_word, uint32_t)
CHOOSE(choose_long, uint64_t)

#define ROW(function, name, form, ...) { name, function, form },
static const struct opcode rows[] = {
    COMPARISONS(ROW){ "selp.b16", choose_word, "h:hhp" },
    { "selp.u16", choose_word, "h:hhp" },
    { "selp.s16", choose_word, "h:hhp" },
    { "selp.b32", choose_word, "w:wwp" },
    { "selp.u32", choose_word, "w:wwp" },
    { "selp.s32", choose_word, "w:wwp" },
    { "selp.f32", choose_word, "w:wwp" },
    { "selp.b64", choose_long, "d:ddp" },
    { "selp.u64", choose_long, "d:ddp" },
    { "selp.s64", choose_long, "d:ddp" },
    { "selp.f64", choose_long, "d:ddp" },
};
const struct opcode_table opcodes_compare = { rows, ARRAY_SIZE(rows) };
