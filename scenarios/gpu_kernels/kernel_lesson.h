/* A kernel lesson: a pair of short kernels with one thing wrong in the first, as data.
 *
 * kernels/lessons/NAME.cu has the kernels, NAME_before and NAME_after, which compute the same;
 * where the way has two steps it has NAME_between as well. A count must show, which follows from
 * the source by arithmetic: a row of .foretold has that arithmetic, and a machine that executes the
 * kernels' PTX says whether it is true (harness/lab/lessons). So a lesson needs no GPU, and says
 * nothing of times.
 *
 * The file of a lesson has one const row; kernel_lesson.c registers it. */
#ifndef SCENARIOS_GPU_KERNELS_KERNEL_LESSON_H
#define SCENARIOS_GPU_KERNELS_KERNEL_LESSON_H

#include <stdbool.h>

/* The architectures that a lesson's arithmetic is made for; harness/lab/kernel_run/residency.h has
 * what they are. */
#define LESSON_ARCHES(X) X(80) X(90) X(100)
enum {
#define LESSON_ARCH_ID(number) LESSON_ARCH_##number,
    LESSON_ARCHES(LESSON_ARCH_ID)
#undef LESSON_ARCH_ID
        LESSON_ARCH_COUNT
};
extern const int lesson_arches[LESSON_ARCH_COUNT]; /* their numbers */

/* The same number for each architecture. */
#define ON_ALL(x)                                                                                  \
    {                                                                                              \
        x, x, x                                                                                    \
    }

/* id, name in result files, unit ("" for counts), meaning, and the metric of Nsight Compute that
 * says the same or shows it best. A count is of all launches of a kernel's variant. */
#define KERNEL_COUNTS(X)                                                                           \
    X(SECTORS_PER_LOAD, "sectors_per_load", "",                                                    \
      "sectors of 32 bytes that a warp's load touches in global memory, on average",               \
      "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio")                      \
    X(SECTORS_PER_STORE, "sectors_per_store", "",                                                  \
      "sectors of 32 bytes that a warp's store touches in global memory, on average",              \
      "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio")                      \
    X(GLOBAL_LOADS, "global_loads", "", "loads of warps from global memory",                       \
      "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum")                                           \
    X(GLOBAL_STORES, "global_stores", "", "stores of warps to global memory",                      \
      "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum")                                           \
    X(LOAD_SECTORS, "load_sectors", "", "sectors of 32 bytes that loads touch in global memory",   \
      "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum")                                            \
    X(SHARED_LOADS, "shared_loads", "", "loads of warps from shared memory",                       \
      "smsp__inst_executed_op_shared_ld.sum")                                                      \
    X(SHARED_PASSES, "shared_passes", "",                                                          \
      "passes over the banks (wavefronts) that accesses to shared memory take",                    \
      "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum + "                                    \
      "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum")                                      \
    X(BANK_CONFLICTS, "bank_conflicts", "",                                                        \
      "passes over the banks beyond those that the accesses would take without conflicts",         \
      "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum")                                        \
    X(LANES_PER_INSTRUCTION, "lanes_per_instruction", "",                                          \
      "lanes of 32 that take part in an instruction of a warp, on average",                        \
      "smsp__thread_inst_executed_per_inst_executed.ratio")                                        \
    X(DIVERGED_BRANCHES, "diverged_branches", "", "branches that separate the lanes of a warp",    \
      "smsp__sass_branch_targets_threads_divergent.sum")                                           \
    X(LONE_INSTRUCTIONS, "lone_instructions", "",                                                  \
      "instructions that a single lane of a warp does",                                            \
      "smsp__thread_inst_executed_per_inst_executed.ratio, by line")                               \
    X(ATOMIC_REQUESTS, "atomic_requests", "", "atomic operations of warps on global memory",       \
      "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum")                                          \
    X(ATOMICS_ON_A_WORD, "atomics_on_a_word", "",                                                  \
      "atomic operations of lanes on the word of global memory that has the most",                 \
      "lts__t_sectors_op_red.sum")                                                                 \
    X(LOCAL_BYTES, "local_bytes", "B",                                                             \
      "bytes that threads load from local memory and store there",                                 \
      "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum and _st.sum, 32 bytes each")                  \
    X(SPILLED_BYTES, "spilled_bytes", "B",                                                         \
      "bytes that ptxas has a thread store and load because registers ran out, as its table says", \
      "sass__inst_executed_register_spilling")                                                     \
    X(RESIDENT_WARPS, "resident_warps", "", "warps that a multiprocessor holds at once, at most",  \
      "sm__maximum_warps_per_active_cycle_pct, of 64 warps")                                       \
    X(BYTES_IN_FLIGHT, "bytes_in_flight", "B",                                                     \
      "bytes that a warp asks of global memory before it has to wait for them, on average",        \
      "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio")                  \
    X(WAVES, "waves", "", "blocks of the grid, over those that the GPU holds at once",             \
      "launch__waves_per_multiprocessor")                                                          \
    X(WAVE_USE, "wave_use", "", "waves, over the whole waves that they take",                      \
      "sm__warps_active.avg.pct_of_peak_sustained_active")                                         \
    X(NEEDLESS_BARRIERS, "needless_barriers", "",                                                  \
      "barriers that blocks passed and that ordered no two warps' accesses",                       \
      "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio")
enum kernel_count {
    KERNEL_COUNT_NONE,
#define KERNEL_COUNT_ID(id, name, unit, meaning, metric) KERNEL_COUNT_##id,
    KERNEL_COUNTS(KERNEL_COUNT_ID)
#undef KERNEL_COUNT_ID
        KERNEL_COUNT_COUNT,
    KERNEL_COUNT_FIRST = KERNEL_COUNT_NONE + 1
};

struct kernel_count_row {
    const char *name, *unit, *meaning, *metric;
};
extern const struct kernel_count_row kernel_counts[]; /* by enum kernel_count */

/* The arguments of a kernel. Arrays are rows of `columns` elements, `pitch` elements apart; what
 * lies between them is zero in an input, and nobody's in an output. */
enum lesson_argument_kind {
    LESSON_NOTHING, /* the end of the list */
    LESSON_INTEGER,
    LESSON_FLOATS, /* small whole numbers, the same in all variants */
    LESSON_HALVES, /* the same numbers in 16 bits */
    LESSON_RESULT, /* floats, zero before the launch; all variants must give the same */
};

struct lesson_argument {
    enum lesson_argument_kind kind;
    int value;                         /* of an integer */
    int rows, rows_per_block, columns; /* rows: all in all, or per block of the grid */
    int pitch;                         /* 0: columns */
};

enum { LESSON_ARGUMENTS = 4, LESSON_FORETOLD = 4 };

/* The first two are those of enum variant. */
enum lesson_variant { LESSON_BEFORE, LESSON_AFTER, LESSON_BETWEEN, LESSON_VARIANTS };
const char *lesson_variant_name(int variant); /* "before" ... */

struct lesson_launch {
    const char *words; /* what differs, in the table: "tile[32][33]"; NULL: no such variant */
    unsigned blocks[LESSON_ARCH_COUNT], blocks_y; /* blocks_y: 0 is 1 */
    unsigned threads, threads_y;                  /* threads_y: 0 is 1 */
    struct lesson_argument arguments[LESSON_ARGUMENTS];
};

/* A count of each variant by architecture, as arithmetic gives it. What is measured must be the
 * same to the last digit, or within a share of it: `within` is for counts of instructions, which
 * depend on the compiler. */
struct foretold {
    enum kernel_count count; /* KERNEL_COUNT_NONE: the end */
    double before[LESSON_ARCH_COUNT], after[LESSON_ARCH_COUNT];
    double within, between[LESSON_ARCH_COUNT];
};

/* The lines that differ, in a language; NULL: it has no such thing, and `instead` says why. */
struct lesson_lines {
    const char *before, *after, *instead;
};

struct kernel_lesson {
    const char *name; /* also the stem of its files here and in kernels/lessons */
    const char *title;
    const char *symptom, *cause, *fix, *look, *cost; /* the lesson, one sentence each */
    const char *section, *rule; /* of Nsight Compute: identifiers; rule NULL: none says it */
    struct lesson_lines cuda, triton, pytorch;
    struct lesson_launch launches[LESSON_VARIANTS]; /* by enum lesson_variant */
    struct foretold foretold[LESSON_FORETOLD];
};

extern const struct kernel_lesson *const kernel_lessons[]; /* ends with NULL */

const struct kernel_lesson *kernel_lesson_find(const char *name); /* NULL: none */

/* The variants of a lesson from the wrong one to the right one; returns how many: 2 or 3. */
int lesson_steps(const struct kernel_lesson *lesson, int steps[LESSON_VARIANTS]);
bool lesson_has_between(const struct kernel_lesson *lesson);

/* The place of an architecture in lesson_arches; -1: it is not known. */
int lesson_arch_find(int number);

#endif
