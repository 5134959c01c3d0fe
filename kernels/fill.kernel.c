/* Fills, casts and the triad: pure memory traffic. */
#include "kernels/dialect/kernel.h"

#include "kernels/fill.h"

KERNEL_PACKS(fill, k, i)
{
    store(k->y + i, pack_of(k->value));
}

KERNEL_SPREAD(cast_from_float, k, at)
{
    struct pack x = load_spread_floats(k->x, at);
    EACH(j) x.v[j] = settled(x.v[j]);
    store_spread(k->y, at, x);
}

KERNEL_SPREAD(cast_to_float, k, at)
{
    store_spread_floats(k->y, at, load_spread(k->x, at));
}

KERNEL_PACKS(triad, k, i)
{
    struct pack a = load(k->a + i), b = load(k->b + i);
    EACH(j) a.v[j] += k->scale * b.v[j];
    store(k->y + i, a);
}
