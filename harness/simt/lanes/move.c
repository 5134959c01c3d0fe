/* Moves, pairs that become one register and the other way round, and addresses of one space as
 * those of another. */
#include "harness/simt/code/lanes.h"

UNARY(move_word, uint32_t, uint32_t, uint32_t, x)
UNARY(move_long, uint64_t, uint64_t, uint64_t, x)
UNARY(to_shared, uint64_t, uint64_t, uint64_t, x | SIMT_SHARED_WINDOW)
UNARY(from_shared, uint64_t, uint64_t, uint64_t, x & ~SIMT_SHARED_WINDOW)
UNARY(to_local, uint64_t, uint64_t, uint64_t, x | SIMT_LOCAL_WINDOW)
UNARY(from_local, uint64_t, uint64_t, uint64_t, x & ~SIMT_LOCAL_WINDOW)

UNARY(to_param, uint64_t, uint64_t, uint64_t, x | SIMT_PARAM_WINDOW)
UNARY(from_param, uint64_t, uint64_t, uint64_t, x & ~SIMT_PARAM_WINDOW)
#define WINDOWS (SIMT_SHARED_WINDOW | SIMT_LOCAL_WINDOW | SIMT_PARAM_WINDOW)
UNARY(is_shared, uint64_t, uint64_t, uint32_t, (x & WINDOWS) == SIMT_SHARED_WINDOW ? UINT32_MAX : 0)
UNARY(is_local, uint64_t, uint64_t, uint32_t, (x & WINDOWS) == SIMT_LOCAL_WINDOW ? UINT32_MAX : 0)
UNARY(is_global, uint64_t, uint64_t, uint32_t, (x & WINDOWS) == 0 ? UINT32_MAX : 0)

void lanes_nothing(struct warp *warp, const struct instruction *instruction)
{
    (void)warp;
    (void)instruction;
}

void lanes_fence(struct warp *warp, const struct instruction *instruction)
{
    (void)instruction;
    warp->group->fenced = warp->group->acquires = true;
}

/* The first source is the lower half. */
#define PACK(function, held, expression)                                                           \
    void function(struct warp *warp, const struct instruction *instruction)                        \
    {                                                                                              \
        held *d = REGISTER(held, instruction->d[0]);                                               \
        const uint32_t *a = REGISTER(uint32_t, instruction->s[0]),                                 \
                       *b = REGISTER(uint32_t, instruction->s[1]);                                 \
                                                                                                   \
        LANES(held, d, v = expression)                                                             \
    }
PACK(lanes_pack16, uint32_t, (a[l] & 0xffff) | b[l] << 16)
PACK(lanes_pack32, uint64_t, a[l] | (uint64_t)b[l] << 32)

/* A destination may be "_", which is none, and may be the place of the source: a lane is read
 * before it is written. */
#define UNPACK(function, held, low, high)                                                          \
    void function(struct warp *warp, const struct instruction *instruction)                        \
    {                                                                                              \
        const held *a = REGISTER(held, instruction->s[0]);                                         \
        uint32_t unused[2][SIMT_LANES];                                                            \
        uint32_t *d[2];                                                                            \
                                                                                                   \
        for (int i = 0; i < 2; i++)                                                                \
            d[i] = instruction->d[i] >= 0 ? REGISTER(uint32_t, instruction->d[i]) : unused[i];     \
        LANES(uint32_t, d[0], held x = a[l]; v = (uint32_t)(low);                                  \
              d[1][l] = warp->lane[l] ? (uint32_t)(high) : d[1][l])                                \
    }
UNPACK(lanes_unpack16, uint32_t, x & 0xffff, x >> 16)
UNPACK(lanes_unpack32, uint64_t, x, x >> 32)

static const struct opcode rows[] = {
    { "mov.pred", move_word, "p:p" },
    { "mov.b16", move_word, "h:h" },
    { "mov.u16", move_word, "h:h" },
    { "mov.s16", move_word, "h:h" },
    { "mov.b32", move_word, "w:w" },
    { "mov.u32", move_word, "w:w" },
    { "mov.s32", move_word, "w:w" },
    { "mov.f32", move_word, "w:w" },
    { "mov.b64", move_long, "d:d" },
    { "mov.u64", move_long, "d:d" },
    { "mov.s64", move_long, "d:d" },
    { "mov.f64", move_long, "d:d" },
    { "cvta.global.u64", move_long, "d:d" },
    { "cvta.to.global.u64", move_long, "d:d" },
    { "cvta.const.u64", move_long, "d:d" },
    { "cvta.to.const.u64", move_long, "d:d" },
    { "cvta.shared.u64", to_shared, "d:d" },
    { "cvta.to.shared.u64", from_shared, "d:d" },
    { "cvta.local.u64", to_local, "d:d" },
    { "cvta.to.local.u64", from_local, "d:d" },
    { "cvta.param.u64", to_param, "d:d" },
    { "cvta.to.param.u64", from_param, "d:d" },
    { "isspacep.shared", is_shared, "p:d" },
    { "isspacep.local", is_local, "p:d" },
    { "isspacep.global", is_global, "p:d" },
    { "isspacep.const", is_global, "p:d" }, /* as global memory has it */
};
const struct opcode_table opcodes_move = { rows, ARRAY_SIZE(rows) };
