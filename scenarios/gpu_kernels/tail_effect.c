/* A grid slightly larger than what the GPU holds at once. */
#include "harness/lab/kernel/lesson.h"

enum { THREADS = 256, TILES = 4, EACH = 4, LEFT_OVER = 8, THREADS_MOST = 2048 };

/* Blocks that the GPU holds: threads are what limits them. */
#define WAVE(multiprocessors)   (multiprocessors * (THREADS_MOST / THREADS))
#define BLOCKS(multiprocessors) (WAVE(multiprocessors) + LEFT_OVER)
#define BY_ARCH(of)                                                                                \
    {                                                                                              \
        of(108), of(132), of(148)                                                                  \
    }

#define SMALLER(multiprocessors)          (BLOCKS(multiprocessors) * TILES)
#define WAVES(multiprocessors)            ((double)BLOCKS(multiprocessors) / WAVE(multiprocessors))
#define WAVES_OF_SMALLER(multiprocessors) (TILES * WAVES(multiprocessors))

/* The last wave is a whole one in time, whatever it holds. */
#define USE(multiprocessors)            (WAVES(multiprocessors) / 2)
#define USE_OF_SMALLER(multiprocessors) (WAVES_OF_SMALLER(multiprocessors) / (TILES + 1))

#define ARRAY(pattern, tiles)                                                                      \
    {                                                                                              \
        KERNEL_F32, tiles *THREADS *EACH, pattern, .per_block = true                               \
    }
#define LAUNCH(how, blocks, tiles)                                                                 \
    LESSON_LAUNCH(how, BY_ARCH(blocks), THREADS, ARRAY(KERNEL_SMALL, tiles),                       \
                  ARRAY(KERNEL_ZERO, tiles))

const struct kernel_lesson kernel_lesson_tail_effect = {
    .name = "tail_effect",
    .title = "A few blocks more than the GPU holds",
    .also = "wave quantization, tail wave, partial wave, waves per SM, SM utilization, "
            "LaunchStats, Launch Statistics, persistent kernel, grid-stride loop",
    .symptom = "most of the GPU is idle in the second half of the kernel",
    .cause = "the grid is a few blocks more than a wave, and the blocks that are left take as "
             "long as the wave did",
    .fix = "smaller blocks of work, so that the last wave is short; or as many blocks as the GPU "
           "holds, each of which goes on with the next tile when it is done",
    .look = "waves per multiprocessor: slightly above a whole number, and a small one",
    .cost = "what a block does once, such as filling a table, is done more often",
    .section = "LaunchStats",
    .rule = "LaunchConfiguration",
    .cuda = { "kernel<<<tiles / 4, 256>>>(in, out);  // 4 tiles per block\n",
              "kernel<<<tiles, 256>>>(in, out);      // one\n" },
    .triton = { "kernel[(triton.cdiv(n, 4096),)](x, BLOCK=4096)\n",
                "kernel[(triton.cdiv(n, 1024),)](x, BLOCK=1024)\n" },
    .pytorch = { "y = linear(x)  # 133 tiles on 132 multiprocessors\n",
                 "y = linear(x)  # a batch that fills whole waves\n" },
    .launches = { LAUNCH("4 tiles per block", BLOCKS, TILES),
                  LAUNCH("a tile per block", SMALLER, 1) },
    .predicted = {
        { KERNEL_COUNT_WAVES, BY_ARCH(WAVES), BY_ARCH(WAVES_OF_SMALLER) },
        { KERNEL_COUNT_WAVE_USE, BY_ARCH(USE), BY_ARCH(USE_OF_SMALLER) },
    },
};
