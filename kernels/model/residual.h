/* Residual connection: y = a + b. y may be a or b. */
#pragma once

struct residual_add {
    real *y;
    const real *a, *b;
};

/* Fused with the bias of the branch: y = a + b + bias. y may be a or b. */
struct bias_residual {
    real *y;           /* [rows, width] */
    const real *a, *b; /* [rows, width] */
    const real *bias;  /* [width] */
    int width;
};
