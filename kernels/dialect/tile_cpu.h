/* Products of tiles on the CPU, part of tile.h: every vector of a tile at once, each a lane of
 * vector registers. A block of sums stays in registers while one operand is broadcast from the
 * first-level cache: 90 of the 110 GFLOP/s that a core of an EPYC (Zen 4) has, in fp32. */
#pragma once

/* AT_ONCE sums of 32 floats: 16 of 32 registers with AVX-512. Four are 1.4 times faster than two
 * with AVX2, though they take all of its registers. */
#ifdef __AVX512F__
enum { OWN = TILE_COLUMNS, TAKEN = 32, AT_ONCE = 8 };
#else
enum { OWN = TILE_COLUMNS, TAKEN = 32, AT_ONCE = 4 };
#endif

#define OWNED(i)               for (int i = 0; i < OWN; i++)
#define TAKEN_ROWS(j)          for (int j = 0; j < TAKEN; j++)
#define TILE_ELEMENTS(c, tile) for (int c = 0; c < (tile).width; c++)
#define TILE_HELD              TILE_WIDTH_MOST
#define SUMS_AT_ONCE(b)        _Pragma("GCC unroll 8") for (int b = 0; b < AT_ONCE; b++)

struct own {
    float v[OWN];
};

struct tile {
    int width, first, count;
};

#define TILE_ROUNDS(tile, width, first, count)                                                     \
    for (struct tile tile = { width, first, count }, *round = &tile; round; round = 0)

/* TAKEN rows, widened; those that do not exist are 0. */
struct rows {
    float v[TAKEN * TILE_WIDTH_MOST];
};

KERNEL_INLINE void rows_take(struct rows *rows, const real *from, int count, struct tile tile)
{
    for (int j = 0; j < TAKEN; j++)
        for (int c = 0; c < tile.width; c += PACK)
            store_floats(rows->v + j * tile.width + c,
                         j < count ? load(from + (long)j * tile.width + c) : pack_of(0));
}

KERNEL_INLINE void tile_products(struct own *s, const struct rows *rows, const struct own *x,
                                 struct tile tile)
{
    for (int j = 0; j < TAKEN; j += AT_ONCE) {
        struct own sums[AT_ONCE];
        SUMS_AT_ONCE(b) OWNED(i) sums[b].v[i] = 0;
        for (int c = 0; c < tile.width; c++) {
            SUMS_AT_ONCE(b)
            {
                float a = rows->v[(j + b) * tile.width + c];
                OWNED(i) sums[b].v[i] += a * x[c].v[i];
            }
        }
        SUMS_AT_ONCE(b) s[j + b] = sums[b];
    }
}

KERNEL_INLINE void tile_accumulate(struct own *y, const struct own *p, const struct rows *rows,
                                   struct tile tile)
{
    for (int c = 0; c < tile.width; c += AT_ONCE) {
        struct own sums[AT_ONCE];
        SUMS_AT_ONCE(b) sums[b] = y[c + b];
        for (int j = 0; j < TAKEN; j++) {
            SUMS_AT_ONCE(b)
            {
                float a = rows->v[j * tile.width + c + b];
                OWNED(i) sums[b].v[i] += a * p[j].v[i];
            }
        }
        SUMS_AT_ONCE(b) y[c + b] = sums[b];
    }
}

KERNEL_INLINE struct own own_sum(struct own x, struct tile tile)
{
    (void)tile;
    return x;
}

/* The place in the matrix of the vector in column i. */
KERNEL_INLINE int tile_vector(struct tile tile, int i)
{
    return smaller_int(tile.first + i, tile.count - 1);
}

KERNEL_INLINE void tile_load(struct own *x, const real *from, struct tile tile)
{
    OWNED(i)
    {
        const real *vector = from + (long)tile_vector(tile, i) * tile.width;
        for (int c = 0; c < tile.width; c++) x[c].v[i] = widen(vector[c]);
    }
}

KERNEL_INLINE void tile_store(real *to, const struct own *x, struct tile tile)
{
    for (int i = 0; i < OWN && tile.first + i < tile.count; i++)
        for (int c = 0; c < tile.width; c++)
            to[(long)(tile.first + i) * tile.width + c] = narrow(x[c].v[i]);
}

KERNEL_INLINE struct own own_load(const float *from, struct tile tile)
{
    struct own own;
    OWNED(i) own.v[i] = from[tile_vector(tile, i)];
    return own;
}

KERNEL_INLINE void own_store(float *to, struct own own, struct tile tile)
{
    for (int i = 0; i < OWN && tile.first + i < tile.count; i++) to[tile.first + i] = own.v[i];
}
