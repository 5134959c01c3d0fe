/* Residual connection: y = a + b. Bound by memory bandwidth. */
#include "kernels/dialect/kernel.h"

#include "kernels/model/residual.h"

KERNEL_PACKS(residual_add, k, i)
{
    struct pack a = load(k->a + i), b = load(k->b + i);
    EACH(j) a.v[j] += b.v[j];
    store(k->y + i, a);
}

KERNEL_ROWS(bias_residual, k, row)
{
    const real *a = k->a + row * k->width, *b = k->b + row * k->width;
    real *y = k->y + row * k->width;

    PACKS(c, k->width) {
        struct pack sum = load(a + c), branch = load(b + c), bias = load(k->bias + c);
        EACH(j) sum.v[j] += branch.v[j] + bias.v[j];
        store(y + c, sum);
    }
}
