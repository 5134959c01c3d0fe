/* How many warps of a kernel fit on a multiprocessor, and how its grid fills the machine:
 * arithmetic on what the architecture allows.
 *
 * Limits: "CUDA C++ Programming Guide", "Technical Specifications per Compute Capability". Units in
 * which registers and shared memory are given out: cuda_occupancy.h of the CUDA toolkit (256
 * registers for each warp, 128 bytes and 1024 more for each block, from 8.0 on). Multiprocessors:
 * data sheets of the A100, H100 SXM and B200.
 *
 * Rates: "CUDA C++ Programming Guide", "Throughput of Native Arithmetic Instructions"; of matrices
 * and memory the data sheets and "NVIDIA A100 (H100) Tensor Core GPU Architecture". */
#pragma once

#include "harness/base/status.h"
#include "harness/simt/code/simt_types.h"

#include <stdint.h>

struct architecture {
    int number; /* 80, 90, 100: of --arch, and sm_NUMBER of ptxas */
    const char *gpu;
    int multiprocessors;
    int warps, blocks, registers, shared_bytes;       /* of a multiprocessor */
    int block_shared_bytes;                           /* that a block may ask for */
    double clock_hz, memory_bytes_per_s, cache_bytes; /* the highest; of the L2 cache */
    /* Rates of a multiprocessor, per clock: lanes, by enum simt_work; products of two elements. */
    int lanes[SIMT_WORK_COUNT], matrix_products[SIMT_MATRICES];
};

/* Places in `architectures`. */
enum { ARCH_80, ARCH_90, ARCH_100, ARCH_COUNT };
extern const struct architecture architectures[ARCH_COUNT];

/* A place; -1: it is not known, and ARCHITECTURES lists those that are. */
#define ARCHITECTURES "80, 90, 100"
int architecture_find(int number);

/* The limits of the number of resident blocks: name, text */
#define RESIDENCY_LIMITS(X)                                                                        \
    X(WARPS, "warps")                                                                              \
    X(BLOCKS, "blocks")                                                                            \
    X(REGISTERS, "registers")                                                                      \
    X(SHARED, "shared memory")

enum residency_limit {
#define RESIDENCY_LIMIT(name, text) RESIDENCY_##name,
    RESIDENCY_LIMITS(RESIDENCY_LIMIT)
#undef RESIDENCY_LIMIT
        RESIDENCY_LIMIT_COUNT
};
const char *residency_limit_text(enum residency_limit limit);

struct residency {
    int blocks, warps,
        most_warps; /* resident on a multiprocessor; most: that the architecture allows */
    enum residency_limit limit; /* the one that allows fewest; the first of several */
    int64_t wave;               /* blocks that the whole machine holds at a time */
    int64_t waves;              /* that the grid takes; each but the last one is full */
    int64_t last;               /* blocks of the last one */
};

/* `registers` of a thread. BAD_USAGE: not one block fits, with the reason. */
enum status residency_of(struct residency *residency, const struct architecture *architecture,
                         uint64_t grid_blocks, int threads, int registers, int shared_bytes);

/* The share of the waves' time in which blocks were there, if each took as long: 1 if the last one
 * is full. */
double residency_filled(const struct residency *residency);
