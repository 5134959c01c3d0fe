/* Products of tiles on CUDA, part of tile.h: a lane holds TILE_PART elements of one vector in
 * registers, and the lanes of a warp read the same row of the other matrix together, 16 bytes a
 * load.
 *
 * The products are fp32 multiply-adds. Matrix units are not used, in bf16 neither: on GPUs that
 * have them, libraries are many times faster. */
#pragma once

enum { OWN = 1, TAKEN = 4, TILE_PART = 16 };

#define OWNED(i)               UNROLLED for (int i = 0; i < OWN; i++)
#define TAKEN_ROWS(j)          UNROLLED for (int j = 0; j < TAKEN; j++)
#define TILE_ELEMENTS(c, tile) UNROLLED for (int c = 0; c < TILE_PART; c++)
#define TILE_HELD              TILE_PART

struct own {
    float v[OWN];
};

struct tile {
    int width, count;
    int parts;  /* lanes that make a vector */
    int vector; /* its place in the matrix; may be count or beyond */
    int offset; /* in the vector, of the lane's elements */
};

KERNEL_INLINE struct tile tile_round(int round, int width, int first, int count)
{
    int parts = width / TILE_PART, columns = LANES / parts;
    struct tile tile = { width, count, parts, first + round * columns + LANE % columns,
                         LANE / columns * TILE_PART };
    return tile;
}

/* A round makes its tile as its one-time loop. */
#define TILE_ROUNDS(tile, width, first, count)                                                     \
    for (int round = 0; round < (width) / TILE_PART; round++)                                      \
        for (struct tile tile = tile_round(round, width, first, count), *once = &tile; once;       \
             once = 0)

/* Rows in device memory; beyond the last stands the last again. */
struct rows {
    const real *v;
    int last;
};

KERNEL_INLINE void rows_take(struct rows *rows, const real *from, int count, struct tile tile)
{
    rows->v = from + tile.offset;
    rows->last = count - 1;
}

KERNEL_INLINE const real *rows_row(const struct rows *rows, int j, struct tile tile)
{
    return rows->v + (long)smaller_int(j, rows->last) * tile.width;
}

KERNEL_INLINE struct own own_sum(struct own x, struct tile tile)
{
    for (int away = LANES / 2; away >= LANES / tile.parts; away /= 2)
        x.v[0] += __shfl_xor_sync(0xffffffffu, x.v[0], away);
    return x;
}

KERNEL_INLINE void tile_products(struct own *s, const struct rows *rows, const struct own *x,
                                 struct tile tile)
{
    TAKEN_ROWS(j)
    {
        const real *row = rows_row(rows, j, tile);
        s[j].v[0] = 0;
        UNROLLED for (int c = 0; c < TILE_PART; c += PACK)
        {
            struct pack pack = load(row + c);
            EACH(e) s[j].v[0] += pack.v[e] * x[c + e].v[0];
        }
        s[j] = own_sum(s[j], tile);
    }
}

KERNEL_INLINE void tile_accumulate(struct own *y, const struct own *p, const struct rows *rows,
                                   struct tile tile)
{
    TAKEN_ROWS(j)
    {
        const real *row = rows_row(rows, j, tile);
        UNROLLED for (int c = 0; c < TILE_PART; c += PACK)
        {
            struct pack pack = load(row + c);
            EACH(e) y[c + e].v[0] += pack.v[e] * p[j].v[0];
        }
    }
}

KERNEL_INLINE int tile_vector(struct tile tile, int i)
{
    (void)i;
    return smaller_int(tile.vector, tile.count - 1);
}

KERNEL_INLINE void tile_load(struct own *x, const real *from, struct tile tile)
{
    const real *part = from + (long)tile_vector(tile, 0) * tile.width + tile.offset;
    UNROLLED for (int c = 0; c < TILE_PART; c += PACK)
    {
        struct pack pack = load(part + c);
        EACH(e) x[c + e].v[0] = pack.v[e];
    }
}

KERNEL_INLINE void tile_store(real *to, const struct own *x, struct tile tile)
{
    if (tile.vector >= tile.count)
        return;
    UNROLLED for (int c = 0; c < TILE_PART; c += PACK)
    {
        struct pack pack;
        EACH(e) pack.v[e] = x[c + e].v[0];
        store(to + (long)tile.vector * tile.width + tile.offset + c, pack);
    }
}

KERNEL_INLINE struct own own_load(const float *from, struct tile tile)
{
    struct own own;
    own.v[0] = from[tile_vector(tile, 0)];
    return own;
}

KERNEL_INLINE void own_store(float *to, struct own own, struct tile tile)
{
    if (tile.vector < tile.count && tile.offset == 0)
        to[tile.vector] = own.v[0];
}
