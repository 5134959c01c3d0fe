/* Moves, pairs that become one register and the other way round, and addresses of one space as those of another. */
#include "harness/simt/lanes/lanes.h"

UNARY(move_word, uint32_t, uint32_t, uint32_t, x)
UNARY(move_long, uint64_t, uint64_t, uint64_t, x)
UNARY(to_shared, uint64_t, uint64_t, uint64_t, x | SIMT_SHARED_WINDOW)
UNARY(from_shared, uint64_t, uint64_t, uint64_t, x & ~SIMT_SHARED_WINDOW)
UNARY(to_local, uint64_t, uint64_t, uint64_t, x | SIMT_LOCAL_WINDOW)
UNARY(from_local, uint64_t, uint64_t, uint64_t, x & ~SIMT_LOCAL_WINDOW)

static void nothing(struct warp *warp, const struct instruction *instruction)
{
    (void)warp;
    (void)instruction;
}

void lanes_pack16(struct warp *warp, const struct instruction *instruction)
{
    uint32_t *d = REGISTER(uint32_t, instruction->d[0]);
    const uint32_t *a = REGISTER(uint32_t, instruction->s[0]),
                   *b = REGISTER(uint32_t, instruction->s[1]);

    LANES(uint32_t, d, v = (a[l] & 0xffff) | b[l] << 16)
}

void lanes_pack32(struct warp *warp, const struct instruction *instruction)
{
    uint64_t *d = REGISTER(uint64_t, instruction->d[0]);
    const uint32_t *a = REGISTER(uint32_t, instruction->s[0]),
                   *b = REGISTER(uint32_t, instruction->s[1]);

    LANES(uint64_t, d, v = a[l] | (uint64_t)b[l] << 32)
}

/* A destination may be "_", which is none; and one may be the place of the source, so both are read first. */
void lanes_unpack16(struct warp *warp, const struct instruction *instruction)
{
    const uint32_t *a = REGISTER(uint32_t, instruction->s[0]);
    uint32_t low[SIMT_LANES], high[SIMT_LANES];

    for (int l = 0; l < SIMT_LANES; l++) {
        low[l] = a[l] & 0xffff;
        high[l] = a[l] >> 16;
    }
    if (instruction->d[0] >= 0) {
        LANES(uint32_t, REGISTER(uint32_t, instruction->d[0]), v = low[l])
    }
    if (instruction->d[1] >= 0) {
        LANES(uint32_t, REGISTER(uint32_t, instruction->d[1]), v = high[l])
    }
}

void lanes_unpack32(struct warp *warp, const struct instruction *instruction)
{
    const uint64_t *a = REGISTER(uint64_t, instruction->s[0]);
    uint32_t low[SIMT_LANES], high[SIMT_LANES];

    for (int l = 0; l < SIMT_LANES; l++) {
        low[l] = (uint32_t)a[l];
        high[l] = (uint32_t)(a[l] >> 32);
    }
    if (instruction->d[0] >= 0) {
        LANES(uint32_t, REGISTER(uint32_t, instruction->d[0]), v = low[l])
    }
    if (instruction->d[1] >= 0) {
        LANES(uint32_t, REGISTER(uint32_t, instruction->d[1]), v = high[l])
    }
}

static const struct opcode rows[] = {
    { "mov.pred", move_word, "p:p" },        { "mov.b16", move_word, "h:h" },
    { "mov.u16", move_word, "h:h" },         { "mov.s16", move_word, "h:h" },
    { "mov.b32", move_word, "w:w" },         { "mov.u32", move_word, "w:w" },
    { "mov.s32", move_word, "w:w" },         { "mov.f32", move_word, "w:w" },
    { "mov.b64", move_long, "d:d" },         { "mov.u64", move_long, "d:d" },
    { "mov.s64", move_long, "d:d" },         { "mov.f64", move_long, "d:d" },
    { "cvta.global.u64", move_long, "d:d" }, { "cvta.to.global.u64", move_long, "d:d" },
    { "cvta.shared.u64", to_shared, "d:d" }, { "cvta.to.shared.u64", from_shared, "d:d" },
    { "cvta.local.u64", to_local, "d:d" },   { "cvta.to.local.u64", from_local, "d:d" },
    { "membar.cta", nothing, ":" },          { "membar.gl", nothing, ":" },
    { "membar.sys", nothing, ":" },          { "fence.acq_rel.gpu", nothing, ":" },
    { "fence.sc.gpu", nothing, ":" },
};
const struct opcode_table opcodes_move = { rows, ARRAY_SIZE(rows) };
