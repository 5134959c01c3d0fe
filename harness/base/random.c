/* SplitMix64 (Steele, Lea and Flood, 2014): one word of state, so that a generator can be made for
 * each sample from a seed and a number. */
#include "harness/base/random.h"

#include <math.h>

struct random random_seed(uint64_t seed, uint64_t stream)
{
    struct random random = { seed };

    random.state = random_bits(&random) ^ (stream * 0xd1342543de82ef95u);
    random_bits(&random);
    return random;
}

uint64_t random_bits(struct random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Lemire's multiply-and-reject ("Fast random integer generation in an interval", 2019). */
uint32_t random_below(struct random *random, uint32_t bound)
{
    uint64_t product = (random_bits(random) >> 32) * bound;

    if ((uint32_t)product < bound) {
        uint32_t reject_below = -bound % bound;
        while ((uint32_t)product < reject_below) product = (random_bits(random) >> 32) * bound;
    }
    return (uint32_t)(product >> 32);
}

float random_uniform(struct random *random)
{
    return (float)(random_bits(random) >> 40) * 0x1p-24f;
}

/* Box and Muller's transform; the second value is thrown away to keep the state one word. */
float random_normal(struct random *random)
{
    float radius = sqrtf(-2 * logf(1 - random_uniform(random)));

    return radius * cosf(6.28318530718f * random_uniform(random));
}

void random_shuffle(struct random *random, uint32_t *items, uint32_t count)
{
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = random_below(random, i), item = items[i - 1];
        items[i - 1] = items[j];
        items[j] = item;
    }
}
