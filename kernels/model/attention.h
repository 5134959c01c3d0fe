/* The kernels that attention needs besides its three GEMMs (scores = q k', y = p v): the order of
 * the heads, and the softmax. One head has width / heads elements, a multiple of ROW_MULTIPLE. */
#pragma once

/* q, k, v from the one product qkv (+ bias). A row is a token: samples * tokens rows. */
struct split_heads_forward {
    real *q, *k, *v;  /* [samples, heads, tokens, width / heads] */
    const real *qkv;  /* [samples, tokens, 3, width]: q's, k's, v's heads in order */
    const real *bias; /* [3, width]; NULL: none, or already added */
    int width, heads, tokens;
};

struct split_heads_backward {
    real *dqkv;               /* [samples, tokens, 3, width] */
    const real *dq, *dk, *dv; /* [samples, heads, tokens, width / heads] */
    int width, heads, tokens;
};

struct merge_heads_forward {
    real *y;       /* [samples, tokens, width] */
    const real *x; /* [samples, heads, tokens, width / heads] */
    int width, heads, tokens;
};

struct merge_heads_backward {
    real *dx;       /* [samples, heads, tokens, width / heads] */
    const real *dy; /* [samples, tokens, width] */
    int width, heads, tokens;
};

/* y = softmax(scale * x) over the first lengths[sample] columns (`tokens` if lengths is NULL), 0
 * in the columns from there to width. A row is a query: samples * heads * tokens rows, whose
 * columns beyond `tokens` may hold anything, NaN too. y may be x. */
struct softmax_forward {
    real *y;                /* [samples, heads, tokens, width] */
    const real *x;          /* [samples, heads, tokens, width] */
    const int32_t *lengths; /* [samples], 1 .. tokens; or NULL */
    float scale;
    int width; /* tokens rounded up to ROW_MULTIPLE */
    int heads, tokens;
};

/* dx = scale * y * (dy - sum(dy * y)); 0 beyond the length. dx may be dy. */
struct softmax_backward {
    real *dx;
    const real *y, *dy; /* dy beyond the length may hold anything, NaN too */
    const int32_t *lengths;
    float scale;
    int width, heads, tokens;
};
