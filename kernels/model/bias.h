/* Bias of a linear layer, and the column sums that are its gradient. */
#pragma once

/* y = x + bias on every row. y may be x. */
struct bias_add {
    real *y;          /* [rows, width] */
    const real *x;    /* [rows, width] */
    const real *bias; /* [width] */
    int width;
};

/* Partial column sums of dy, as in layernorm_backward_weight: launched with ceil(rows / chunk) *
 * ceil(width / columns). */
struct bias_backward {
    float *dbias;   /* [ceil(rows / chunk), width] */
    const real *dy; /* [rows, width] */
    int width, rows, chunk;
    int columns; /* a multiple of ROW_MULTIPLE */
};

/* y[c] = sum over `parts` of partial[part, c], added to y if `accumulate`. The count is of
 * columns: the width of partial. */
struct columns_finish {
    real *y;              /* [width] */
    const float *partial; /* [parts, width] */
    int width, parts, accumulate;
};
