/* GELU by its tanh form, and fused with the bias before it.
 *
 * (1 + tanh(u)) / 2 is the logistic function of 2 u, so that with s = 1 / (1 + exp(-2 u)) and
 * u = sqrt(2 / pi) (x + 0.044715 x^3)
 *
 *   gelu(x)  = x s
 *   gelu'(x) = s + x s (1 - s) 2 u'
 *
 * which loses no digits if tanh is close to -1. Bound by memory bandwidth on CUDA and by
 * arithmetic on the CPU. */
#include "kernels/dialect/kernel.h"

#include "kernels/model/gelu.h"

#define SQRT_2_OVER_PI 0.797884561f
#define CUBIC          0.044715f

/* exp(-2 u), bounded before it can overflow: there s is 0 to within 1e-37. */
KERNEL_INLINE float decay(float x)
{
    float exponent = -2 * SQRT_2_OVER_PI * x * (1 + CUBIC * x * x);
    return exponential(exponent < 85 ? exponent : 85);
}

KERNEL_INLINE float gelu(float x)
{
    return quotient(x, 1 + decay(x));
}

KERNEL_INLINE float gelu_slope(float x)
{
    float e = decay(x), s = quotient(1, 1 + e);
    return s + x * s * (e * s) * (2 * SQRT_2_OVER_PI * (1 + 3 * CUBIC * x * x));
}

KERNEL_PACKS(gelu_forward, k, i)
{
    struct pack x = load(k->x + i);
    EACH(j) x.v[j] = gelu(x.v[j]);
    store(k->y + i, x);
}

KERNEL_PACKS(gelu_backward, k, i)
{
    struct pack x = load(k->x + i), dy = load(k->dy + i);
    EACH(j) dy.v[j] *= gelu_slope(x.v[j]);
    store(k->dx + i, dy);
}

KERNEL_ROWS(bias_gelu_forward, k, row)
{
    const real *x = k->x + row * k->width;
    real *y = k->y + row * k->width;

    PACKS(c, k->width) {
        struct pack a = load(x + c), bias = load(k->bias + c);
        EACH(j) a.v[j] = gelu(a.v[j] + bias.v[j]);
        store(y + c, a);
    }
}

KERNEL_ROWS(bias_gelu_backward, k, row)
{
    const real *x = k->x + row * k->width;
    const real *dy = k->dy + row * k->width;
    real *dx = k->dx + row * k->width;

    PACKS(c, k->width) {
        struct pack a = load(x + c), d = load(dy + c), bias = load(k->bias + c);
        EACH(j) d.v[j] *= gelu_slope(a.v[j] + bias.v[j]);
        store(dx + c, d);
    }
}
