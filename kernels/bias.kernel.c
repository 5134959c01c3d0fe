/* Bias of a linear layer: added to rows forward, summed over rows backward. */
#include "kernels/kernel.h"

#include "kernels/bias.h"

/* Bytes per row: width read, width written, sizeof(real) each; the bias stays in cache. Flops per
 * element: 1. */
KERNEL_ROWS(bias_add, k, row)
{
    const real *x = k->x + row * k->width;
    real *y = k->y + row * k->width;

    PACKS(c, k->width) {
        struct pack a = load(x + c), bias = load(k->bias + c);
        EACH(j) a.v[j] += bias.v[j];
        store(y + c, a);
    }
}

/* Bytes per row of the grid: chunk * width * sizeof(real) read, width * 4 written. Flops per element
 * of dy: 1. */
KERNEL_ROWS(bias_backward, k, row)
{
    const real *dy = k->dy + row * k->chunk * k->width;
    float *dbias = k->dbias + row * k->width;
    int rows = smaller_int(k->chunk, k->rows - row * k->chunk);

    TILES(c, k->width) {
        struct pack sums[TILE];
        TILE_PACKS(t, c, k->width) sums[t] = pack_of(0);
        for (long r = 0; r < rows; r++) {
            TILE_PACKS(t, c, k->width) {
                struct pack d = load(dy + r * k->width + c + t * PACK);
                EACH(j) sums[t].v[j] += d.v[j];
            }
        }
        TILE_PACKS(t, c, k->width) store_floats(dbias + c + t * PACK, sums[t]);
    }
}

/* Bytes per column: parts * 4 read, sizeof(real) written (and read where it accumulates). Flops per
 * column: parts. */
KERNEL_PACKS(columns_finish, k, i)
{
    struct pack sums = k->accumulate ? load(k->y + i) : pack_of(0);

    for (int part = 0; part < k->parts; part++) {
        struct pack some = load_floats(k->partial + (long)part * k->width + i);
        EACH(j) sums.v[j] += some.v[j];
    }
    store(k->y + i, sums);
}
