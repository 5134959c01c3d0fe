/* Attention by tiles. Backward recomputes the probabilities from lse, once for the queries'
 * gradients and once for the keys': so each lane adds up what it alone writes, and neither atomics
 * nor partial results are needed, at the price of seven products where five would do. */
#include "kernels/dialect/tile.h"

#include "kernels/model/tiled_attention.h"

KERNEL_ASSERT((int)ATTENTION_TILE == (int)TILE_COLUMNS &&
                  (int)ATTENTION_WIDTH_MOST == (int)TILE_WIDTH_MOST,
              "the host counts in these tiles");

/* The head whose tile the row is in. */
struct head {
    long vectors; /* before this head's first: its place in lse */
    long offset;  /* its first element in q, k, v */
    int first;    /* vector of the tile */
    int length;   /* keys that count */
};

KERNEL_INLINE struct head head_of(long row, const int32_t *lengths, int width, int heads,
                                  int tokens)
{
    int tiles = (tokens + TILE_COLUMNS - 1) / TILE_COLUMNS;
    int matrix = (int)(row / tiles);
    struct head head;

    head.vectors = (long)matrix * tokens;
    head.offset = head.vectors * width;
    head.first = (int)(row % tiles) * TILE_COLUMNS;
    head.length = lengths ? lengths[matrix / heads] : tokens;
    return head;
}

/* Scales the scores of TAKEN keys, of which `count` exist, and turns them into exp(score -
 * maximum): a new maximum, by what older sums are to be multiplied, and the sums. */
KERNEL_INLINE struct own online_softmax(struct own *p, struct own *maxima, struct own *sums,
                                        float scale, int count)
{
    struct own old = *maxima, correction;

    TAKEN_ROWS(j)
    {
        if (j < count)
            OWNED(i) p[j].v[i] *= scale;
        else
            OWNED(i) p[j].v[i] = -FLT_MAX;
        OWNED(i) maxima->v[i] = larger(maxima->v[i], p[j].v[i]);
    }
    OWNED(i) correction.v[i] = exponential(old.v[i] - maxima->v[i]);
    OWNED(i) sums->v[i] *= correction.v[i];
    TAKEN_ROWS(j)
    {
        OWNED(i) p[j].v[i] = exponential(p[j].v[i] - maxima->v[i]);
        OWNED(i) sums->v[i] += p[j].v[i];
    }
    return correction;
}

KERNEL_ROWS(tiled_attention_forward, k, row)
{
    struct head head = head_of(row, k->lengths, k->width, k->heads, k->tokens);

    TILE_ROUNDS(tile, k->width, head.first, k->tokens)
    {
        struct own q[TILE_HELD], y[TILE_HELD], maxima = own_of(-FLT_MAX), sums = own_of(0);

        tile_load(q, k->q + head.offset, tile);
        TILE_ELEMENTS(c, tile) y[c] = own_of(0);
        for (int from = 0; from < head.length; from += TAKEN) {
            long at = head.offset + (long)from * k->width;
            struct own p[TAKEN], correction;
            struct rows rows;

            rows_take(&rows, k->k + at, head.length - from, tile);
            tile_products(p, &rows, q, tile);
            correction = online_softmax(p, &maxima, &sums, k->scale, head.length - from);
            TILE_ELEMENTS(c, tile) OWNED(i) y[c].v[i] *= correction.v[i];
            rows_take(&rows, k->v + at, head.length - from, tile);
            tile_accumulate(y, p, &rows, tile);
        }
        OWNED(i) maxima.v[i] += logf(sums.v[i]);
        own_store(k->lse + head.vectors, maxima, tile);
        OWNED(i) sums.v[i] = 1 / sums.v[i];
        TILE_ELEMENTS(c, tile) OWNED(i) y[c].v[i] *= sums.v[i];
        tile_store(k->y + head.offset, y, tile);
    }
}

KERNEL_ROWS(tiled_attention_backward_query, k, row)
{
    struct head head = head_of(row, k->lengths, k->width, k->heads, k->tokens);

    TILE_ROUNDS(tile, k->width, head.first, k->tokens)
    {
        struct own q[TILE_HELD], dy[TILE_HELD], dq[TILE_HELD], lse, delta = own_of(0);

        tile_load(q, k->y + head.offset, tile);
        tile_load(dy, k->dy + head.offset, tile);
        TILE_ELEMENTS(c, tile) OWNED(i) delta.v[i] += q[c].v[i] * dy[c].v[i];
        delta = own_sum(delta, tile);
        own_store(k->delta + head.vectors, delta, tile);
        lse = own_load(k->lse + head.vectors, tile);
        tile_load(q, k->q + head.offset, tile);
        TILE_ELEMENTS(c, tile) dq[c] = own_of(0);
        for (int from = 0; from < head.length; from += TAKEN) {
            long at = head.offset + (long)from * k->width;
            struct own p[TAKEN], ds[TAKEN];
            struct rows rows;

            rows_take(&rows, k->v + at, head.length - from, tile);
            tile_products(ds, &rows, dy, tile);
            rows_take(&rows, k->k + at, head.length - from, tile);
            tile_products(p, &rows, q, tile);
            TAKEN_ROWS(j)
            {
                OWNED(i) p[j].v[i] = exponential(k->scale * p[j].v[i] - lse.v[i]);
                OWNED(i)
                ds[j].v[i] = from + j < head.length ? p[j].v[i] * (ds[j].v[i] - delta.v[i]) : 0;
            }
            tile_accumulate(dq, ds, &rows, tile);
        }
        TILE_ELEMENTS(c, tile) OWNED(i) dq[c].v[i] *= k->scale;
        tile_store(k->dq + head.offset, dq, tile);
    }
}

KERNEL_ROWS(tiled_attention_backward_key, k, row)
{
    struct head head = head_of(row, k->lengths, k->width, k->heads, k->tokens);
    int tokens = k->tokens, queries = head.first < head.length ? tokens : 0;

    TILE_ROUNDS(tile, k->width, head.first, tokens)
    {
        struct own key[TILE_HELD], value[TILE_HELD], dk[TILE_HELD], dv[TILE_HELD];

        tile_load(key, k->k + head.offset, tile);
        tile_load(value, k->v + head.offset, tile);
        TILE_ELEMENTS(c, tile) dk[c] = dv[c] = own_of(0);
        for (int from = 0; from < queries; from += TAKEN) {
            long at = head.offset + (long)from * k->width;
            struct own p[TAKEN], ds[TAKEN];
            struct rows rows, drows;

            rows_take(&rows, k->q + at, queries - from, tile);
            rows_take(&drows, k->dy + at, queries - from, tile);
            tile_products(p, &rows, key, tile);
            tile_products(ds, &drows, value, tile);
            TAKEN_ROWS(j)
            {
                long query = head.vectors + smaller_int(from + j, tokens - 1);
                float lse = k->lse[query], delta = k->delta[query];
                OWNED(i)
                p[j].v[i] = from + j < tokens ? exponential(k->scale * p[j].v[i] - lse) : 0;
                OWNED(i) ds[j].v[i] = p[j].v[i] * (ds[j].v[i] - delta);
            }
            tile_accumulate(dv, p, &drows, tile);
            tile_accumulate(dk, ds, &rows, tile);
        }
        TILE_ELEMENTS(c, tile) OWNED(i)
        {
            int counts = tile_vector(tile, i) < head.length;
            dk[c].v[i] = counts ? k->scale * dk[c].v[i] : 0;
            dv[c].v[i] = counts ? dv[c].v[i] : 0;
        }
        tile_store(k->dk + head.offset, dk, tile);
        tile_store(k->dv + head.offset, dv, tile);
    }
}
