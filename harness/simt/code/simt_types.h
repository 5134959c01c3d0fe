/* A launch's arguments, findings and counts. */
#pragma once

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
    X(NO_BARRIER, "a missing barrier")                                                             \
    X(NO_SYNCWARP, "a missing __syncwarp()")                                                       \
    X(UNORDERED, "an access that nothing orders after another stream's")                           \
    X(SAME_ADDRESS, "lanes of one store write different values to one address")                    \
    X(BARRIER, "a barrier that not all threads of the block reach")                                \
    X(LANE_MASK, "an exchange between lanes that not all of its lanes reach")                      \
    X(TRAP, "a trap")                                                                              \
    X(ASSERTION, "an assertion that fails")                                                        \
    X(LIMITS, "a launch beyond the limits of the architecture")                                    \
    X(ENDLESS, "more instructions than the launch may have")                                       \
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
    char place[192]; /* "optimizer.kernel.c:171, inlined at optimizer.kernel.c:180"; "" where nvcc
                        says no line */
    /* "ld.global.f32 %f1, [%rd5]"; "" where the launch as a whole is wrong */
    char instruction[128];
    char detail[256]; /* the thread, the address, whose memory is next to it */
    int text_line;    /* of the instruction, in the PTX; 0: none */
};

/* Findings of a launch, each kind once for an instruction. */
enum { SIMT_FINDINGS_MOST = 64 };
struct simt_findings {
    struct simt_finding rows[SIMT_FINDINGS_MOST];
    int count;
};

enum simt_access { SIMT_LOADS, SIMT_STORES, SIMT_ATOMICS, SIMT_ACCESSES };

/* Accesses of one kind to one space. A request is one access of a warp.
 *
 * Global memory moves in sectors of 32 bytes. Shared memory has 32 banks of 4 bytes, of which a
 * pass ("wavefront") serves a word each; accesses of 8 or 16 bytes go by halves or quarters of the
 * warp, so they want 2 or 4 passes. Local memory is global memory in which the words of 32 lanes
 * lie next to each other. */
struct simt_accesses {
#define SIMT_ACCESS_COUNTS(X)                                                                      \
    X(requests)                                                                                    \
    X(lanes)   /* that took part */                                                                \
    X(bytes)   /* that they asked for */                                                           \
    X(touched) /* sectors; of shared memory passes */                                              \
    /* Sectors that would hold the bytes, of which each counts once; passes without conflicts. */  \
    X(wanted)                                                                                      \
    /* Sectors touched beyond that, by cause: bytes that lie next to each other, but not from a    \
     * multiple of 32 on; what lies between lanes because those in between take no part. */        \
    X(shifted)                                                                                     \
    X(holes)                                                                                       \
    X(fresh)     /* of loads: sectors new to the block; 0 unless the launch asks for it */         \
    X(conflicts) /* of atomic operations and stores: lanes whose address one before them has too   \
                  */
#define SIMT_COUNT(name) uint64_t name;
    SIMT_ACCESS_COUNTS(SIMT_COUNT)
};

/* The counts of launches, of a kernel or of a line of its source. */
struct simt_counts {
    uint64_t launches, warps; /* of a line: 0 */
#define SIMT_STEP_COUNTS(X)                                                                        \
    X(instructions) /* of warps */                                                                 \
    X(lanes)        /* that took part in them */                                                   \
    X(alone)        /* instructions that one lane of a warp did */                                 \
    X(branches)     /* with a condition */                                                         \
    X(diverged)     /* branches that separated lanes */                                            \
    X(barriers)     /* that warps came to */                                                       \
    X(passed)       /* barriers that blocks passed */                                              \
    X(needed)       /* passed barriers that ordered accesses of different warps */                 \
    X(waits) /* for loads of global memory: loads of a straight run that do not depend on each     \
                other share one */
    SIMT_STEP_COUNTS(SIMT_COUNT)
#undef SIMT_COUNT
    struct simt_accesses global[SIMT_ACCESSES], shared[SIMT_ACCESSES], local[SIMT_ACCESSES];
};

/* Instructions by the part of a multiprocessor that does them: name, what it is */
#define SIMT_WORKS(X)                                                                              \
    X(FP32, "fp32") /* sums and products */                                                        \
    X(FP16, "fp16") /* and bf16: the same */                                                       \
    X(FP64, "fp64") /* all of this type */                                                         \
    X(TENSOR, "tensor cores")                                                                      \
    X(SPECIAL, "special functions") /* roots, exponentials, reciprocals */                         \
    X(ALU, "integers and logic")    /* comparisons, minima too */                                  \
    X(CONVERT, "conversions")                                                                      \
    X(MEMORY, "memory")                                                                            \
    X(EXCHANGE, "exchanges") /* between lanes of a warp */                                         \
    X(CONTROL, "control")    /* branches, barriers */                                              \
    X(MOVE, "moves")         /* which ptxas mostly does without: parameters, constants */

enum simt_work {
#define SIMT_WORK(id, name) SIMT_##id,
    SIMT_WORKS(SIMT_WORK)
#undef SIMT_WORK
        SIMT_WORK_COUNT
};

/* Products of matrices, by the type that is multiplied. */
enum simt_matrix {
    SIMT_MATRIX_16,
    SIMT_MATRIX_TF32,
    SIMT_MATRIX_8,
    SIMT_MATRIX_FP64,
    SIMT_MATRICES
};

struct simt_mix {
    uint64_t of[SIMT_WORK_COUNT];            /* instructions of warps */
    uint64_t flops;                          /* of lanes; a sum and a product at once are two */
    uint64_t matrix_products[SIMT_MATRICES]; /* of two elements, each with a sum */
};

/* A line of the source (.loc, as nvcc -lineinfo writes it; a line of the PTX if there is none),
 * and what launches did there. The work of a header's function counts where it was inlined. */
struct simt_line {
    const char *file; /* without folders; the machine's */
    int line;
    struct simt_counts counts;
};

/* An instruction that accessed global or shared memory: what its requests came to, and one of them,
 * the one that touched most beyond what it wanted, or the first. */
struct simt_sample {
    const char *file;
    int line;
    char instruction[128];
    enum simt_access access;
    bool shared;    /* not global memory */
    unsigned bytes; /* of a lane */
    struct simt_accesses counts;
    uint32_t mask; /* the request: lanes that took part */
    uint64_t address[32];
    unsigned touched, wanted;
};

/* Facts of a kernel that are known without running it. */
enum { SIMT_PARAMETERS_MOST = 256 };
struct simt_shape {
    int parameters, parameter_size[SIMT_PARAMETERS_MOST]; /* in bytes */
    char parameter_type[SIMT_PARAMETERS_MOST][16];        /* "f32", "array", "{24 bytes}" */
    int shared_bytes, local_bytes; /* static; local: of a thread, without spills */
    int most_threads;              /* __launch_bounds__; 0: not given */
    int registers; /* of 4 bytes that are in use at once, at most. ptxas gives others: a few more,
                      or fewer and spills */
    bool barriers;
};

/* Bytes of a block of memory that the last launch has read or written (each once; atomic operations
 * not), words that atomic operations changed, and how many at most changed one. */
struct simt_footprint {
    uint64_t read, written, atomic_words, atomic_most;
};

enum { SIMT_STREAMS = 32 };

/* The place of a piece of work among others: which of its stream it is, and of each stream the last
 * one that surely came before it. The pieces of a stream count from 1, and each comes before the
 * next. */
struct simt_order {
    uint32_t stream;
    uint64_t number, before[SIMT_STREAMS];
};

struct simt_grid {
    unsigned blocks[3], threads[3];
    size_t shared_bytes;            /* dynamic */
    const struct simt_order *order; /* NULL: after all that was before */
    uint64_t most_instructions;     /* of warps; 0: no limit */
    bool counts_fresh;              /* see struct simt_accesses */
    struct simt_findings *all;      /* NULL: the first finding ends the launch */
};

/* Memory that is a texture or a surface, whose handle is its address. */
struct simt_texture {
    const void *memory;
    int size[3], channels; /* width, height, depth: at least 1 */
    int type;              /* set by simt_texture_add() */
    bool linear, normalized, wraps;
};
