/* Residual connection: y = a + b. Bound by memory bandwidth. */
#include "kernels/kernel.h"

#include "kernels/residual.h"

/* Bytes per element: 2 read, 1 written, sizeof(real) each. Flops: 1. */
KERNEL_PACKS(residual_add, k, i)
{
    struct pack a = load(k->a + i), b = load(k->b + i);
    EACH(j) a.v[j] += b.v[j];
    store(k->y + i, a);
}
