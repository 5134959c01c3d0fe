/* One thread that adds up what the whole block has. */
#include "harness/lab/kernel/lesson.h"

enum { LANES = 32, THREADS = 256, BLOCKS = 64, UNROLLED = 32 };

/* A load and an addition for each number, and four instructions for each round of the loop, which
 * nvcc unrolls. After, a lane of each warp finds its place and stores its sum, in 5 instructions,
 * and one stores the block's. */
enum { LONE = THREADS * 2 + THREADS / UNROLLED * 4, LONE_AFTER = THREADS / LANES * 5 + 4 };

/* A tree of 8 steps: 4, 2 and 1 warps take part in the first three, one in each of the others, with
 * two loads each. The last step is of one lane, with an addition and a store; it loads the block's
 * sum and stores it, in 5 instructions. */
enum { TREE_LOADS = (4 + 2 + 1 + 5) * 2 + 1, LONE_BETWEEN = 4 + 5 };

/* The barriers before the first three steps let a warp see what others stored; what follows is of
 * one warp. */
enum { TREE_BARRIERS = 1 + 8, TREE_BARRIERS_NEEDED = 3 };

#define LAUNCH(how)                                                                                \
    LESSON_LAUNCH(how, ON_ALL(BLOCKS), THREADS, LESSON_FLOATS(BLOCKS *THREADS),                    \
                  LESSON_RESULT(BLOCKS))

const struct kernel_lesson kernel_lesson_serial_reduction = {
    .name = "serial_reduction",
    .title = "One thread that adds up what the block has",
    .also = "parallel reduction, warp shuffle, tree reduction, block reduce",
    .symptom = "the block's other warps wait or have ended, while one lane goes round a loop",
    .cause = "thread 0 adds the block's numbers one after the other",
    .fix = "a tree in shared memory, or, without its barriers, exchanges between lanes "
           "(__shfl_xor_sync: 5 steps for 32 numbers), then a word per warp in shared memory; or "
           "cub::BlockReduce",
    .look = "active threads per warp: 1 in the loop",
    .cost = "the numbers are added in another order, so that sums of floats may differ in the "
            "last digits",
    .section = "WarpStateStats",
    .rule = "ThreadDivergence",
    .cuda = { "if (threadIdx.x == 0)\n"
              "    for (int i = 0; i < 256; i++)\n"
              "        sum += values[i];\n",
              "for (int d = 16; d > 0; d /= 2)\n"
              "    sum += __shfl_xor_sync(0xffffffff, sum, d);\n" },
    .triton = { "for i in range(BLOCK):\n"
                "    total += tl.load(x + i)\n",
                "total = tl.sum(tl.load(x + tl.arange(0, BLOCK)))\n" },
    .pytorch = { "total = 0\n"
                 "for value in x:\n"
                 "    total = total + value\n",
                 "total = x.sum()\n" },
    .launches = { LAUNCH("thread 0 adds all"), LAUNCH("lanes exchange"),
                  LAUNCH("a tree in shared memory") },
    .predicted = {
        /* A load per number; after, one load of the first warp has the sums of all 8. */
        { KERNEL_COUNT_SHARED_LOADS, ON_ALL(BLOCKS * THREADS), ON_ALL(BLOCKS),
          .between = ON_ALL(BLOCKS * TREE_LOADS) },
        { KERNEL_COUNT_LONE_INSTRUCTIONS, ON_ALL(BLOCKS *LONE), ON_ALL(BLOCKS *LONE_AFTER),
          .within = 0.05, .between = ON_ALL(BLOCKS * LONE_BETWEEN) },
        { KERNEL_COUNT_NEEDLESS_BARRIERS, ON_ALL(0), ON_ALL(0),
          .between = ON_ALL(BLOCKS * (TREE_BARRIERS - TREE_BARRIERS_NEEDED)) },
    },
};
