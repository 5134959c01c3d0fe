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

KERNEL_PACKS(cast_to_double, k, i)
{
    store_doubles(k->y + i, load(k->x + i));
}

KERNEL_PACKS(cast_from_double, k, i)
{
    struct pack x = load_doubles(k->x + i);
    if (k->accumulate) {
        struct pack y = load(k->y + i);
        EACH(j) x.v[j] += y.v[j];
    }
    EACH(j) x.v[j] = settled(x.v[j]);
    store(k->y + i, x);
}

KERNEL_PACKS(triad, k, i)
{
    struct pack a = load(k->a + i), b = load(k->b + i);
    EACH(j) a.v[j] += k->scale * b.v[j];
    store(k->y + i, a);
}
