/* GELU, the tanh form: gelu(x) = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
 * (Hendrycks, Gimpel: "Gaussian error linear units", 2016; PyTorch's approximate="tanh"). */
#pragma once

struct gelu_forward {
    real *y;
    const real *x;
};

/* dx = dy * gelu'(x). dx may be dy. */
struct gelu_backward {
    real *dx;
    const real *dy, *x;
};

/* Fused: y = gelu(x + bias). */
struct bias_gelu_forward {
    real *y;          /* [rows, width] */
    const real *x;    /* [rows, width] */
    const real *bias; /* [width] */
    int width;
};

/* dx = dy * gelu'(x + bias). dx may be dy. */
struct bias_gelu_backward {
    real *dx;           /* [rows, width] */
    const real *dy, *x; /* [rows, width] */
    const real *bias;   /* [width] */
    int width;
};
