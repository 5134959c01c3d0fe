/* A matrix product that fetches every number as often as it is used. */
#include "harness/lab/kernel/lesson.h"

enum { LANES = 32, SECTOR = 32, FLOAT = 4, SIZE = 128, ROWS = 8, EACH = 4, DEPTH = 32 };
enum { WARPS = SIZE, BLOCKS = SIZE / ROWS };

/* A warp wants the number of a that all of its lanes use, and 128 floats of b. */
enum { A_NUMBER = 1, B_ROW = LANES * EACH * FLOAT / SECTOR };

/* A block fetches, for 32 steps of the sum, as many numbers of each of its rows of a, and as many
 * rows of b. */
enum { A_TILE = ROWS * DEPTH * FLOAT / SECTOR, B_TILE = DEPTH * B_ROW };

#define LAUNCH(how)                                                                                \
    LESSON_LAUNCH_2D(how, SIZE / LANES / EACH, BLOCKS, LANES, ROWS, LESSON_FLOATS(SIZE * SIZE),    \
                     LESSON_FLOATS(SIZE * SIZE), LESSON_RESULT(SIZE * SIZE), LESSON_INTEGER(SIZE))

const struct kernel_lesson kernel_lesson_no_reuse = {
    .name = "no_reuse",
    .title = "Fetching every number as often as it is used",
    .also = "arithmetic intensity, roofline, roofline model, tiling, shared memory tiling, data "
            "reuse, memory bandwidth, memory-bound, SpeedOfLight, GPU Speed Of Light "
            "Throughput, memory throughput, compute throughput, memory hierarchy, L2 cache, "
            "cache hit rate, HBM bandwidth",
    .symptom = "a product that should be bound by arithmetic waits for memory and caches",
    .cause = "each row of the result fetches the whole second matrix for itself",
    .fix = "fetch a tile into shared memory once, and let all rows of the block use it from there",
    .look = "sectors: eight times as many as with a tile that eight rows share",
    .cost = "shared memory and two barriers per tile; the larger the tile, the fewer blocks fit",
    .section = "SpeedOfLight",
    .rule = "SOLBottleneck",
    .cuda = { "for (int k = 0; k < size; k++)\n"
              "    sum += a[row * size + k] * b[k * size + column];\n",
              "right[y][x] = b[(from + y) * size + column];\n"
              "__syncthreads();\n"
              "for (int k = 0; k < 32; k++)\n"
              "    sum += left[y][k] * right[k][x];\n" },
    .triton = { "for k in range(size):\n"
                "    acc += tl.load(a + k) * tl.load(b + k * size + n)\n",
                "for k in range(0, size, 32):\n"
                "    acc = tl.dot(tl.load(a_tile), tl.load(b_tile), acc)\n" },
    .pytorch = { "c = (a[:, :, None] * b[None, :, :]).sum(1)\n", "c = a @ b\n" },
    .launches = { LAUNCH("from memory"), LAUNCH("from a tile") },
    .predicted = {
        { KERNEL_COUNT_LOAD_SECTORS, ON_ALL(WARPS * SIZE * (A_NUMBER + B_ROW)),
          ON_ALL(BLOCKS * (SIZE / DEPTH) * (A_TILE + B_TILE)) },
        { KERNEL_COUNT_GLOBAL_LOADS, ON_ALL(WARPS * SIZE * 2),
          ON_ALL(BLOCKS * (SIZE / DEPTH) * (ROWS + DEPTH)) },
    },
};
