/* Fills, casts and the triad: pure memory traffic. */
#include "kernels/kernel.h"

#include "kernels/fill.h"

/* Bytes per element: sizeof(real) written. Flops: none. */
KERNEL_PACKS(fill, k, i)
{
    store(k->y + i, pack_of(k->value));
}

/* Bytes per element: 4 read, sizeof(real) written. Flops: none. */
KERNEL_PACKS(cast_from_float, k, i)
{
    struct pack x = load_floats(k->x + i);
    EACH(j) x.v[j] = settled(x.v[j]);
    store(k->y + i, x);
}

/* Bytes per element: sizeof(real) read, 4 written. Flops: none. */
KERNEL_PACKS(cast_to_float, k, i)
{
    store_floats(k->y + i, load(k->x + i));
}

/* Bytes per element: 2 read, 1 written, sizeof(real) each. Flops: TRIAD_FLOPS. */
KERNEL_PACKS(triad, k, i)
{
    struct pack a = load(k->a + i), b = load(k->b + i);
    EACH(j) a.v[j] += k->scale * b.v[j];
    store(k->y + i, a);
}
