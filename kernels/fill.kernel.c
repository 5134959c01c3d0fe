/* Fills, casts and the triad: pure memory traffic. */
#include "kernels/dialect/kernel.h"

#include "kernels/fill.h"

KERNEL_PACKS(fill, k, i)
{
    store(k->y + i, pack_of(k->value));
}

KERNEL_PACKS(cast_from_float, k, i)
{
    struct pack x = load_floats(k->x + i);
    EACH(j) x.v[j] = settled(x.v[j]);
    store(k->y + i, x);
}

KERNEL_PACKS(cast_to_float, k, i)
{
    store_floats(k->y + i, load(k->x + i));
}

KERNEL_PACKS(triad, k, i)
{
    struct pack a = load(k->a + i), b = load(k->b + i);
    EACH(j) a.v[j] += k->scale * b.v[j];
    store(k->y + i, a);
}
