/* The bodies that both harnesses time: a given number of dependent steps. */
#pragma once

#include <stdint.h>

/* A linear congruential generator (Knuth's MMIX): each step waits for the one before. The empty
 * statement takes and gives the value, so that no step is left out; without steps it is all there
 * is. */
static inline void bench_overhead_body(uint64_t *value, long steps)
{
    uint64_t x = *value;

    for (long i = 0; i < steps; i++) x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
    __asm__ volatile("" : "+r"(x));
    *value = x;
}

#ifdef __cplusplus
extern "C" {
#endif
/* Opens what this harness needs; 0: it is there. Then the median of an iteration's time in ns. */
int bench_overhead_open(void);
double bench_overhead_ours(long steps, double min_seconds);
#ifdef __cplusplus
}
#endif
