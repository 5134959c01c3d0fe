/* Barriers of the block, though each warp exchanges with itself alone. */
#include "harness/lab/kernel/lesson.h"

enum { THREADS = 256, BLOCKS = 64, ROUNDS = 8, BARRIERS_OF_A_ROUND = 2 };

#define LAUNCH(how)                                                                                \
    LESSON_LAUNCH(how, ON_ALL(BLOCKS), THREADS, LESSON_FLOATS(BLOCKS *THREADS),                    \
                  LESSON_RESULT(BLOCKS *THREADS), LESSON_INTEGER(ROUNDS))

const struct kernel_lesson kernel_lesson_redundant_barriers = {
    .name = "redundant_barriers",
    .title = "A barrier of the block for what one warp does",
    .also = "__syncthreads, barrier stalls, __syncwarp, stall barrier",
    .symptom = "warps wait for each other though none uses what another wrote",
    .cause = "__syncthreads() stands where only the lanes of one warp exchange",
    .fix = "__syncwarp(), or an exchange between lanes without shared memory",
    .look = "the stall \"barrier\" at lines whose shared memory belongs to one warp",
    .cost = "none; but which warp uses which word must be certain, and compute-sanitizer --tool "
            "racecheck checks it",
    .section = "WarpStateStats",
    .rule = "CPIStall",
    .cuda = { "values[threadIdx.x] = x;\n"
              "__syncthreads();\n"
              "x += values[neighbour];  // of the same warp\n",
              "values[threadIdx.x] = x;\n"
              "__syncwarp();\n"
              "x += values[neighbour];\n" },
    .triton = { .instead = "the compiler places barriers, and leaves out those that a layout "
                           "does not need" },
    .pytorch = { .instead = "no operator has barriers of its own" },
    .launches = { LAUNCH("__syncthreads()"), LAUNCH("__syncwarp()") },
    .predicted = {
        { KERNEL_COUNT_NEEDLESS_BARRIERS, ON_ALL(BLOCKS * ROUNDS * BARRIERS_OF_A_ROUND),
          ON_ALL(0) },
    },
};
