/* Embeddings: gathers forward, sums in a fixed order backward. Bound by memory bandwidth. */
#include "kernels/dialect/kernel.h"

#include "kernels/model/embedding.h"

KERNEL_ROWS(token_embedding_forward, k, row)
{
    const real *entry = k->table + (long)k->ids[row] * k->width;
    const real *position = k->positions + ((int)row % k->tokens) * (long)k->width;
    real *y = k->y + row * k->width;

    PACKS(c, k->width) {
        struct pack a = load(entry + c), p = load(position + c);
        EACH(j) a.v[j] += p.v[j];
        store(y + c, a);
    }
}

/* Most entries of the table meet none of their ids in a batch: they are told apart by one look
 * through the ids, and only the others look again for every tile. */
KERNEL_ROWS(token_embedding_backward, k, row)
{
    real *dtable = k->dtable + row * k->width;
    int found = 0;

    for (int t = LANE; t < k->count; t += LANES) found |= k->ids[t] == (int)row;
    found = lanes_any(found);
    if (!found && k->accumulate)
        return;

    TILES(c, k->width) {
        struct pack sums[TILE];
        TILE_PACKS(t, c, k->width)
            sums[t] = k->accumulate ? load(dtable + c + t * PACK) : pack_of(0);
        for (long i = 0; found && i < k->count; i++) {
            if (k->ids[i] != (int)row)
                continue;
            TILE_PACKS(t, c, k->width) {
                struct pack d = load(k->dy + i * k->width + c + t * PACK);
                EACH(j) sums[t].v[j] += d.v[j];
            }
        }
        TILE_PACKS(t, c, k->width) store(dtable + c + t * PACK, sums[t]);
    }
}

KERNEL_ROWS(patch_embedding_forward, k, row)
{
    int sample = (int)row / k->tokens, token = (int)row % k->tokens;
    const real *position = k->positions + token * (long)k->width;
    const real *x = k->x + (row - sample - (token > 0)) * k->width; /* not read for token 0 */
    real *y = k->y + row * k->width;

    PACKS(c, k->width) {
        struct pack a = load(position + c);
        if (token > 0) {
            struct pack patch = load(x + c), bias = load(k->bias + c);
            EACH(j) a.v[j] += patch.v[j] + bias.v[j];
        }
        store(y + c, a);
    }
}

KERNEL_ROWS(patch_embedding_backward, k, row)
{
    int sample = (int)row / (k->tokens - 1);
    const real *dy = k->dy + (row + sample + 1) * k->width;
    real *dx = k->dx + row * k->width;

    PACKS(c, k->width) store(dx + c, load(dy + c));
}

KERNEL_PACKS(positions_backward, k, i)
{
    struct pack sums = k->accumulate ? load(k->dpositions + i) : pack_of(0);

    for (int sample = 0; sample < k->samples; sample++) {
        struct pack d = load(k->dy + sample * k->elements + i);
        EACH(j) sums.v[j] += d.v[j];
    }
    store(k->dpositions + i, sums);
}
