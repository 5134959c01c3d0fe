/* Attention without its scores in memory: y = softmax(scale * q k') v, tile by tile, with an online
 * softmax (Milakov and Gimelshein: "Online normalizer calculation for softmax", 2018; Dao et al.:
 * "FlashAttention", 2022). Backward needs one number per query of the softmax, the logarithm of
 * its sum: p = exp(scale * q k' - lse).
 *
 * q, k, v, y and their gradients are [samples, heads, tokens, width]; lse and delta are floats
 * [samples, heads, tokens]. Keys count up to lengths[sample] (`tokens` if lengths is NULL),
 * queries all do. A row is a tile of ATTENTION_TILE queries, or keys, of one head:
 * ATTENTION_TILES() rows. */
#pragma once

enum { ATTENTION_TILE = 32, ATTENTION_WIDTH_MOST = 128 };

/* Rows of a launch, where matrices = samples * heads. */
#define ATTENTION_TILES(matrices, tokens)                                                          \
    ((long)(matrices) * (((tokens) + ATTENTION_TILE - 1) / ATTENTION_TILE))

struct tiled_attention_forward {
    real *y;
    float *lse;
    const real *q, *k, *v;
    const int32_t *lengths; /* [samples], 1 .. tokens; or NULL */
    float scale;
    int width; /* of a head: 32, 64 or 128 */
    int heads, tokens;
};

/* dq, and delta = sum(dy * y) of each query: the row sums that the softmax's gradient needs. */
struct tiled_attention_backward_query {
    real *dq;
    float *delta;
    const real *q, *k, *v, *y, *dy;
    const float *lse;
    const int32_t *lengths;
    float scale;
    int width, heads, tokens;
};

/* dk and dv, 0 beyond the length; after backward_query, whose delta it reads. */
struct tiled_attention_backward_key {
    real *dk, *dv;
    const real *q, *k, *v, *dy;
    const float *lse, *delta;
    const int32_t *lengths;
    float scale;
    int width, heads, tokens;
};
