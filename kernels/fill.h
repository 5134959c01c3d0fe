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

/* y = a + scale * b, as in McCalpin's STREAM (1995). y may be a or b. */
struct triad {
    real *y;
    const real *a, *b;
    float scale;
};
