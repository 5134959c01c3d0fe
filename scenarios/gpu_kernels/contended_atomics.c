/* An atomic addition by every thread to one address. */
#include "harness/lab/kernel/lesson.h"

enum { LANES = 32, THREADS = 256, BLOCKS = 64, WARPS = THREADS / LANES };

#define LAUNCH(how)                                                                                \
    LESSON_LAUNCH(how, ON_ALL(BLOCKS), THREADS, LESSON_FLOATS(BLOCKS *THREADS), LESSON_RESULT(1))

const struct kernel_lesson kernel_lesson_contended_atomics = {
    .name = "contended_atomics",
    .title = "Every thread adds to one address",
    .also = "atomics, atomicAdd, atomic contention",
    .symptom = "the kernel takes longer the more threads it has, and L2 has one busy slice",
    .cause = "atomic operations on one address are done one after the other, and each thread has "
             "one",
    .fix = "add up in a warp (__shfl_xor_sync), then in the block (shared memory), and let a "
           "block add once",
    .look = "atomic operations on one word: as many as threads, where as many as blocks would do",
    .cost = "some shared memory and a barrier; sums of floats depend on the order in either case",
    .section = "MemoryWorkloadAnalysis_Tables",
    .cuda = { "atomicAdd(total, in[i]);\n",
              "float sum = block_sum(in[i]);\n"
              "if (threadIdx.x == 0)\n"
              "    atomicAdd(total, sum);\n" },
    .triton = { "tl.atomic_add(total + tl.zeros_like(i), x)\n",
                "tl.atomic_add(total, tl.sum(x))\n" },
    .pytorch = { "total.index_add_(0, torch.zeros_like(i), x)\n", "total += x.sum()\n" },
    .launches = { LAUNCH("each thread adds"), LAUNCH("each block adds"), LAUNCH("each warp adds") },
    .predicted = {
        { KERNEL_COUNT_ATOMICS_ON_A_WORD, ON_ALL(BLOCKS * THREADS), ON_ALL(BLOCKS),
          .between = ON_ALL(BLOCKS * WARPS) },
        { KERNEL_COUNT_ATOMIC_REQUESTS, ON_ALL(BLOCKS * WARPS), ON_ALL(BLOCKS),
          .between = ON_ALL(BLOCKS * WARPS) },
    },
};
