/* Reproducible random numbers: the same seed gives the same integers on every machine.
 *
 * SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014):
 * 64 bits of state, any seed is good, and streams of different seeds are independent enough for
 * initial weights, sample order and the order of repetitions. Not for secrets. */
#pragma once

#include <stdint.h>

struct random {
    uint64_t state;
};

/* A generator for purpose number `stream` of `seed`. */
struct random random_seed(uint64_t seed, uint64_t stream);

uint64_t random_bits(struct random *random);
uint32_t random_below(struct random *random, uint32_t bound); /* 0 .. bound - 1, unbiased */
float random_uniform(struct random *random);                  /* [0, 1) */
float random_normal(struct random *random);                   /* mean 0, variance 1 */

/* Shuffles `count` indices (Fisher-Yates). */
void random_shuffle(struct random *random, uint32_t *items, uint32_t count);
