/* A launch's arguments, findings and counts. */
#ifndef HARNESS_SIMT_CODE_SIMT_TYPES_H
#define HARNESS_SIMT_CODE_SIMT_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* kind, what is wrong */
#define SIMT_FINDINGS(X)                                                                           \
    X(NONE, "nothing")                                                                             \
    X(OUT_OF_BOUNDS, "an access out of bounds")                                                    \
    X(MISALIGNED, "a misaligned access")                                                           \
    X(UNWRITTEN, "a read of what nobody wrote")                                                    \
    X(RACE, "a race")                                                                              \
    X(UNORDERED, "an access that nothing orders after another stream's")                           \
    X(SAME_ADDRESS, "lanes of one store write to one address")                                     \
    X(BARRIER, "a barrier that not all threads of the block reach")                                \
    X(LANE_MASK, "an exchange between lanes that not all of its lanes reach")                      \
    X(TRAP, "a trap")                                                                              \
    X(LIMITS, "a launch beyond the limits of the architecture")                                    \
    X(ARGUMENTS, "arguments that are not those of the kernel")

enum simt_finding_kind {
#define SIMT_FINDING_KIND(name, text) SIMT_##name,
    SIMT_FINDINGS(SIMT_FINDING_KIND)
#undef SIMT_FINDING_KIND
        SIMT_FINDING_KINDS
};

/* Texts are the machine's, and valid until it is closed. */
struct simt_finding {
    enum simt_finding_kind kind;
    const char *kernel;
    char place
        [192]; /* "optimizer.kernel.c:171, inlined at optimizer.kernel.c:180"; "" where nvcc says no line */
    char
        instruction[128]; /* "ld.global.f32 %f1, [%rd5]"; "" where the launch as a whole is wrong */
    char detail[256];     /* the thread, the address, whose memory is next to it */
};

/* The counts of launches. A request is one access of a warp to global memory. */
struct simt_counts {
    uint64_t launches, warps;
    uint64_t instructions; /* of warps */
    uint64_t lanes;        /* that took part in them */
    uint64_t requests;
    uint64_t sectors;            /* of 32 bytes that requests touched */
    uint64_t wanted;             /* that would have held the bytes which their lanes wanted */
    uint64_t branches, diverged; /* with a condition; that separated lanes */
    uint64_t shared_requests, shared_passes,
        shared_wanted; /* passes: of the banks; wanted: with none twice */
};

enum { SIMT_STREAMS = 32 };

/* Where a piece of work stands among others: which of its stream it is, and of each stream the last one that surely came
 * before it. The pieces of a stream count from 1, and each comes before the next. */
struct simt_order {
    uint32_t stream;
    uint64_t number, before[SIMT_STREAMS];
};

struct simt_grid {
    unsigned blocks[3], threads[3];
    size_t shared_bytes;            /* dynamic */
    const struct simt_order *order; /* NULL: after all that was before */
};

#endif
