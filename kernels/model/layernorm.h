/* Layer normalisation over the last dimension: y = (x - mean) / sqrt(variance + 1e-5) * weight +
 * bias (Ba, Kiros, Hinton: "Layer normalization", 2016). Variance is the biased one, as in
 * PyTorch. */
#pragma once

struct layernorm_forward {
    real *y;                   /* [rows, width] */
    float *mean, *rstd;        /* [rows], kept for backward */
    const real *x;             /* [rows, width] */
    const real *weight, *bias; /* [width] */
    int width;
};

/* dx from dy; x is the forward's input. */
struct layernorm_backward {
    real *dx;                 /* [rows, width] */
    const real *x, *dy;       /* [rows, width] */
    const real *weight;       /* [width] */
    const float *mean, *rstd; /* [rows] */
    int width;
};

/* Partial column sums for dweight and dbias: a row of the grid sums up `columns` columns of `chunk`
 * rows of x and dy (the last ones what is left of them). Launched with ceil(rows / chunk) *
 * ceil(width / columns), the columns of a chunk next to each other; columns_finish adds the parts
 * up. */
struct layernorm_backward_weight {
    float *dweight, *dbias;   /* [ceil(rows / chunk), width] */
    const real *x, *dy;       /* [rows, width] */
    const float *mean, *rstd; /* [rows] */
    int width, rows, chunk;
    int columns; /* a multiple of ROW_MULTIPLE */
};

/* Fused: sum = a + b + bias; y = layernorm(sum), of the sum as it is stored. */
struct residual_layernorm_forward {
    real *sum, *y;           /* [rows, width]; sum may be a or b */
    float *mean, *rstd;      /* [rows] */
    const real *a, *b;       /* [rows, width] */
    const real *branch_bias; /* [width], the bias of the product b; NULL: none */
    const real *weight, *bias;
    int width;
};

/* Fused: dx = add + layernorm_backward(dy). */
struct residual_layernorm_backward {
    real *dx;                 /* [rows, width]; may be add */
    const real *x, *dy, *add; /* [rows, width] */
    const real *weight;
    const float *mean, *rstd;
    int width;
};
