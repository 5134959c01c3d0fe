/* Bias of a linear layer: added to rows forward, summed over rows backward. */
#include "kernels/dialect/kernel.h"

#include "kernels/model/bias.h"

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

KERNEL_ROWS(bias_backward, k, row)
{
    struct column_block block = find_column_block(row, k->rows, k->width, k->chunk, k->columns);
    const real *dy = k->dy + block.first * k->width + block.column;
    float *dbias = k->dbias + block.part * k->width + block.column;

    TILES(c, block.columns) {
        struct pack sums[TILE];
        TILE_PACKS(t, c, block.columns) sums[t] = pack_of(0);
        for (long r = 0; r < block.rows; r++) {
            TILE_PACKS(t, c, block.columns) {
                struct pack d = load(dy + r * k->width + c + t * PACK);
                EACH(j) sums[t].v[j] += d.v[j];
            }
        }
        TILE_PACKS(t, c, block.columns) store_floats(dbias + c + t * PACK, sums[t]);
    }
}

KERNEL_COLUMNS(columns_finish, k, c)
{
    real *y = k->y + c + SLICE_FIRST;
    const float *partial = k->partial + c + SLICE_FIRST;
    struct slice sums = k->accumulate && SLICE_LANE == 0 ? load_slice(y) : slice_of(0);
    int part = SLICE_LANE;

    for (; AHEAD > 1 && part + (AHEAD - 1) * SLICE_LANES < k->parts; part += AHEAD * SLICE_LANES) {
        struct slice some[AHEAD];
        UNROLLED for (int a = 0; a < AHEAD; a++) some[a] =
            load_slice_floats(partial + (long)(part + a * SLICE_LANES) * k->width);
        UNROLLED for (int a = 0; a < AHEAD; a++) EACH_OF_SLICE(j) sums.v[j] += some[a].v[j];
    }
    for (; part < k->parts; part += SLICE_LANES) {
        struct slice some = load_slice_floats(partial + (long)part * k->width);
        EACH_OF_SLICE(j) sums.v[j] += some.v[j];
    }
    sums = slices_sums(sums);
    if (SLICE_LANE == 0)
        store_slice(y, sums);
}
