/* An array of each thread that does not stay in registers. */
#include "harness/lab/kernel/lesson.h"

enum { FLOAT = 4, THREADS = 256, BLOCKS = 64, WEIGHTS = 48, STEPS = 96 };

/* A launch bound of 2048 threads leaves each of them 32 of the 65536 registers: at least 16 of the
 * weights do not fit, and ptxas may spill all of them, to have room for what is under way. Each is
 * stored once and loaded at one place. */
enum {
    REGISTERS = 65536 / 2048,
    FEWEST = (WEIGHTS - REGISTERS) * 2 * FLOAT,
    MOST = WEIGHTS * 2 * FLOAT
};

#define LAUNCH(how)                                                                                \
    LESSON_LAUNCH(how, ON_ALL(BLOCKS), THREADS, LESSON_FLOATS(BLOCKS *THREADS),                    \
                  LESSON_RESULT(BLOCKS *THREADS), LESSON_INTEGER(STEPS))

const struct kernel_lesson kernel_lesson_register_spills = {
    .name = "register_spills",
    .title = "A thread's values in memory instead of registers",
    .also = "register pressure, register spilling, local memory, maxrregcount, register file, "
            "launch bounds",
    .symptom = "a kernel that loads little moves many bytes through L1 and L2",
    .cause = "an array is indexed by what is known only at run time, or more values are alive "
             "than there are registers: they lie in local memory",
    .fix = "unroll, so that each index is a constant; a launch bound that leaves more registers; "
           "fewer values at a time",
    .look = "local memory: loads and stores where the source has none; ptxas -v: bytes of stack "
            "frame and of spills",
    .cost = "unrolled loops are longer, and more registers per thread leave room for fewer warps",
    .section = "MemoryWorkloadAnalysis_Tables",
    .cuda = { "for (int step = 0; step < steps; step++)\n"
              "    sum = sum * 0.5f + weight[step % 48];\n",
              "for (int step = 0; step < steps; step += 48)\n"
              "    #pragma unroll\n"
              "    for (int n = 0; n < 48; n++)\n"
              "        sum = sum * 0.5f + weight[n];\n" },
    .triton = { "y = kernel[grid](x, BLOCK=16384, num_warps=4)\n",
                "y = kernel[grid](x, BLOCK=2048, num_warps=8)\n" },
    .pytorch = { .instead = "no operator indexes registers; a kernel of torch.compile that "
                            "spills is tuned like Triton's" },
    .launches = { LAUNCH("weight[step % 48]"), LAUNCH("weight[0 .. 47]"),
                  LAUNCH("at most 32 registers") },
    .predicted = {
        /* Each thread stores its weights once, and loads one in every step. */
        { KERNEL_COUNT_LOCAL_BYTES, ON_ALL(BLOCKS * THREADS * (WEIGHTS + STEPS) * FLOAT),
          ON_ALL(0) },
        { KERNEL_COUNT_SPILLED_BYTES, ON_ALL(0), ON_ALL(0),
          .between = ON_ALL((FEWEST + MOST) / 2.0),
          .within = (double)(MOST - FEWEST) / (MOST + FEWEST) },
    },
};
