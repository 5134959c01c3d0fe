#include "benches/benches.h"

/* A bench is a line here and a file. */
#define BENCHES(X)                                                                                 \
    X(lat_launch)                                                                                  \
    X(lat_graph)                                                                                   \
    X(lat_sync)                                                                                    \
    X(lat_event)                                                                                   \
    X(lat_alloc_direct)                                                                            \
    X(lat_alloc_stream)                                                                            \
    X(lat_readback)                                                                                \
    X(bw_copy_h2d)                                                                                 \
    X(bw_copy_h2d_pageable)                                                                        \
    X(bw_copy_d2h)                                                                                 \
    X(bw_copy_d2d)                                                                                 \
    X(bw_memory)                                                                                   \
    X(gemm)                                                                                        \
    X(layernorm)                                                                                   \
    X(softmax)                                                                                     \
    X(gelu)                                                                                        \
    X(jpeg_decode)

#define DECLARE(name) extern const struct bench bench_##name;
BENCHES(DECLARE)

#define ROW(name) &bench_##name,
const struct bench *const benches[] = { BENCHES(ROW) };
const int bench_count = ARRAY_SIZE(benches);
