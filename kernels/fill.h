/* Fills, casts, and the triad, which measures memory bandwidth. */
#pragma once

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

/* In fp64, for products in it. */
struct cast_to_double {
    double *y;
    const real *x;
};

/* y (+)= x, rounded to fp32 first. */
struct cast_from_double {
    real *y;
    const double *x;
    int accumulate;
};

/* y = a + scale * b, as in McCalpin's STREAM (1995). y may be a or b. */
struct triad {
    real *y;
    const real *a, *b;
    float scale;
};
