/* The list of all benches. */
#ifndef BENCHES_BENCHES_H
#define BENCHES_BENCHES_H

#include "harness/bench/bench.h"

extern const struct bench *const benches[];
extern const int bench_count;

#endif
