/* The facts of a kernel that ran alone, and the counts that lessons predict. A row has all that is
 * to know of a count: its name, what it means, and which facts it is. */
#pragma once

#include "harness/base/status.h"
#include "harness/lab/kernel/kernel_run.h"
#include "harness/simt/code/simt_types.h"

#include <stdint.h>

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

/* A kernel's needs as ptxas states them, of a thread; registers 0: not known. */
struct kernel_needs {
    int registers, spilled_bytes; /* spilled: stored and loaded because registers ran out */
};

struct kernel_facts {
    const struct kernel_run *run;
    const struct kernel_outcome *outcome;
    const struct architecture *architecture;
    struct residency residency; /* warps 0: no block fits */
    struct kernel_needs needs;  /* registers: of ptxas, or else those that the PTX has in use at
                                   once */
    bool is_from_ptxas;
};

/* `arch` is a place in `architectures`. */
struct kernel_facts kernel_facts_of(const struct kernel_run *run,
                                    const struct kernel_outcome *outcome, int arch,
                                    struct kernel_needs needs);

/* id, name in result files, unit ("" for counts), meaning, the metric of Nsight Compute that says
 * the same or shows it best, and the value, in the words of kernel_counts_read(). */
#define KERNEL_COUNTS(X)                                                                           \
    X(SECTORS_PER_LOAD, "sectors_per_load", "",                                                    \
      "sectors of 32 bytes that a warp's load touches in global memory, on average",               \
      "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",                      \
      ratio(loads->touched, loads->requests))                                                      \
    X(SECTORS_PER_STORE, "sectors_per_store", "",                                                  \
      "sectors of 32 bytes that a warp's store touches in global memory, on average",              \
      "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",                      \
      ratio(stores->touched, stores->requests))                                                    \
    X(GLOBAL_LOADS, "global_loads", "", "loads of warps from global memory",                       \
      "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", loads->requests)                          \
    X(GLOBAL_STORES, "global_stores", "", "stores of warps to global memory",                      \
      "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", stores->requests)                         \
    X(LOAD_SECTORS, "load_sectors", "", "sectors of 32 bytes that loads touch in global memory",   \
      "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", loads->touched)                            \
    X(SHARED_LOADS, "shared_loads", "", "loads of warps from shared memory",                       \
      "smsp__inst_executed_op_shared_ld.sum", counts->shared[SIMT_LOADS].requests)                 \
    X(SHARED_PASSES, "shared_passes", "",                                                          \
      "passes over the banks (wavefronts) that accesses to shared memory take",                    \
      "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum + "                                    \
      "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",                                      \
      shared.touched)                                                                              \
    X(BANK_CONFLICTS, "bank_conflicts", "",                                                        \
      "passes over the banks beyond those that the accesses would take without conflicts",         \
      "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", shared.touched - shared.wanted)        \
    X(LANES_PER_INSTRUCTION, "lanes_per_instruction", "",                                          \
      "lanes of 32 that take part in an instruction of a warp, on average",                        \
      "smsp__thread_inst_executed_per_inst_executed.ratio",                                        \
      ratio(counts->lanes, counts->instructions))                                                  \
    X(DIVERGED_BRANCHES, "diverged_branches", "", "branches that separate the lanes of a warp",    \
      "smsp__sass_branch_targets_threads_divergent.sum", counts->diverged)                         \
    X(LONE_INSTRUCTIONS, "lone_instructions", "",                                                  \
      "instructions that a single lane of a warp does",                                            \
      "smsp__thread_inst_executed_per_inst_executed.ratio, by line", counts->alone)                \
    X(ATOMIC_REQUESTS, "atomic_requests", "", "atomic operations of warps on global memory",       \
      "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum", counts->global[SIMT_ATOMICS].requests)   \
    X(ATOMICS_ON_A_WORD, "atomics_on_a_word", "",                                                  \
      "atomic operations of lanes on the word of global memory that has the most",                 \
      "lts__t_sectors_op_red.sum", atomics_on_a_word)                                              \
    X(LOCAL_BYTES, "local_bytes", "B",                                                             \
      "bytes that threads load from local memory and store there",                                 \
      "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum and _st.sum, 32 bytes each",                  \
      simt_accesses_sum(counts->local).bytes)                                                      \
    X(SPILLED_BYTES, "spilled_bytes", "B",                                                         \
      "bytes that ptxas has a thread store and load because registers ran out, as its table says", \
      "sass__inst_executed_register_spilling", facts->needs.spilled_bytes)                         \
    X(RESIDENT_WARPS, "resident_warps", "", "warps that a multiprocessor holds at once, at most",  \
      "sm__maximum_warps_per_active_cycle_pct, of 64 warps", residency->warps)                     \
    X(BYTES_IN_FLIGHT, "bytes_in_flight", "B",                                                     \
      "bytes that a warp asks of global memory before it has to wait for them, on average",        \
      "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",                  \
      ratio(loads->bytes, counts->waits))                                                          \
    X(WAVES, "waves", "", "blocks of the grid, over those that the GPU holds at once",             \
      "launch__waves_per_multiprocessor", waves)                                                   \
    X(WAVE_USE, "wave_use", "", "waves, over the whole waves that they take",                      \
      "sm__warps_active.avg.pct_of_peak_sustained_active", waves / ceil(waves))                    \
    X(NEEDLESS_BARRIERS, "needless_barriers", "",                                                  \
      "barriers that blocks passed and that ordered no two warps' accesses",                       \
      "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",                          \
      counts->passed - counts->needed)
enum kernel_count {
    KERNEL_COUNT_NONE,
#define KERNEL_COUNT_ID(id, name, unit, meaning, metric, value) KERNEL_COUNT_##id,
    KERNEL_COUNTS(KERNEL_COUNT_ID)
#undef KERNEL_COUNT_ID
        KERNEL_COUNT_COUNT,
    KERNEL_COUNT_FIRST = KERNEL_COUNT_NONE + 1
};

struct kernel_count_row {
    const char *name, *unit, *meaning, *metric;
};
extern const struct kernel_count_row kernel_counts[]; /* by enum kernel_count */

/* NaN: the kernel has none, such as sectors without a load. */
void kernel_counts_read(double values[KERNEL_COUNT_COUNT], const struct kernel_facts *facts);
