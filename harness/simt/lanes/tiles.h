/* The shapes and types that a matrix instruction multiplies, packed into an instruction's offset,
 * and the stage that its registers pass through. */
#pragma once

#include "harness/simt/code/lanes.h"
#include "harness/simt/code/number_types.h"

enum tile_part { TILE_A, TILE_B, TILE_C, TILE_D };
struct tile {
    int m, n, k;
    int types[4]; /* of number_types, by part */
};

/* Where registers of a part begin, in words; each has at most 16 but C and D, which have 32. */
enum { STAGE_A = 0, STAGE_B = 16, STAGE_C = 32, STAGE_D = 64, STAGE_WORDS = 96 };
enum { TILE_BY_COLUMNS = 4, TILE_STORES = 8, ROWS_TRANSPOSED = 8, ROWS_STORE = 16 };

static inline int64_t tile_pack(const struct tile *tile)
{
    int64_t packed = tile->m | tile->n << 8 | tile->k << 16;

    for (int p = 0; p < 4; p++) packed |= (int64_t)tile->types[p] << (24 + 8 * p);
    return packed;
}

static inline struct tile tile_unpack(int64_t packed)
{
    struct tile tile = {
        (int)(packed & 255), (int)(packed >> 8 & 255), (int)(packed >> 16 & 255), { 0 }
    };

    for (int p = 0; p < 4; p++) tile.types[p] = (int)(packed >> (24 + 8 * p) & 255);
    return tile;
}

/* Elements of a register of a part, and registers of a lane. */
static inline int tile_each(const struct tile *tile, enum tile_part part)
{
    int bits = number_types[tile->types[part]].bits;

    return bits >= 32 ? 1 : 32 / bits;
}

static inline int tile_registers(const struct tile *tile, enum tile_part part)
{
    int elements = part == TILE_A   ? tile->m * tile->k
                   : part == TILE_B ? tile->k * tile->n
                                    : tile->m * tile->n;

    return elements / 32 / tile_each(tile, part);
}
