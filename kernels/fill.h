/* Fills and casts. */
#ifndef KERNELS_FILL_H
#define KERNELS_FILL_H

struct fill {
    real *y;
    float value;
};

struct cast_from_float {
    real *y;
    const float *x;
};

struct cast_to_float {
    float *y;
    const real *x;
};

#endif
