/* A column of a tile whose rows are as long as there are banks. */
#include "harness/lab/kernel/lesson.h"

enum { LANES = 32, BANKS = 32, SIZE = 256, TILE = 32 };
enum { BLOCKS = SIZE / TILE, WARPS = BLOCKS * BLOCKS * TILE * TILE / LANES };

#define LAUNCH(how)                                                                                \
    LESSON_LAUNCH_2D(how, BLOCKS, BLOCKS, TILE, TILE, LESSON_FLOATS(SIZE *SIZE),                   \
                     LESSON_RESULT(SIZE *SIZE), LESSON_INTEGER(SIZE))

const struct kernel_lesson kernel_lesson_bank_conflicts = {
    .name = "bank_conflicts",
    .title = "A column of a tile, all in one bank",
    .also = "bank conflict, shared memory bank conflicts, swizzling",
    .symptom = "shared memory is busy, and little comes of it",
    .cause = "a row of the tile has as many words as there are banks, so that a whole column is "
             "in one bank",
    .fix = "pad the rows by a word, tile[32][33], or turn the columns (swizzle: x ^ y)",
    .look = "bank conflicts: 31 for each access to a column",
    .cost = "a word of shared memory per row; rows are no multiples of 16 bytes then, which a "
            "swizzle keeps",
    .section = "MemoryWorkloadAnalysis_Tables",
    .rule = "SharedMemoryConflicts",
    .cuda = { "__shared__ float tile[32][32];\n", "__shared__ float tile[32][33];\n" },
    .triton = { .instead = "the compiler swizzles the tiles that it keeps in shared memory" },
    .pytorch = { .instead = "no tensor is in shared memory; torch.compile's kernels are Triton's" },
    .launches = { LAUNCH("tile[32][32]"), LAUNCH("tile[32][33]") },
    .predicted = {
        /* A warp stores a row, one pass, and loads a column: as many passes as it has words in one
         * bank. */
        { KERNEL_COUNT_SHARED_PASSES, ON_ALL(WARPS * (1 + BANKS)), ON_ALL(WARPS * (1 + 1)) },
        { KERNEL_COUNT_BANK_CONFLICTS, ON_ALL(WARPS * (BANKS - 1)), ON_ALL(0) },
    },
};
