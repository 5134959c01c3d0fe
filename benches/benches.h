/* The list of all benches. */
#pragma once

#include "harness/bench/bench.h"

extern const struct bench *const benches[];
extern const int bench_count;
