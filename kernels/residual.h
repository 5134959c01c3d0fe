/* Residual connection: y = a + b. y may be a or b. */
#ifndef KERNELS_RESIDUAL_H
#define KERNELS_RESIDUAL_H

struct residual_add {
    real *y;
    const real *a, *b;
};

#endif
