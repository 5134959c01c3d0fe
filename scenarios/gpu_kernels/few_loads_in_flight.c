/* A loop that waits for each load before it asks for the next. */
#include "harness/lab/kernel/lesson.h"

enum { LANES = 32, BYTES = 16, AHEAD = 8, EACH = 4, THREADS = 256, BLOCKS = 16, ROWS = 64 };

#define COLUMNS (BLOCKS * THREADS * EACH)
#define LAUNCH(how)                                                                                \
    LESSON_LAUNCH(how, ON_ALL(BLOCKS), THREADS, LESSON_FLOATS(ROWS *COLUMNS),                      \
                  LESSON_RESULT(COLUMNS), LESSON_INTEGER(ROWS))

const struct kernel_lesson kernel_lesson_few_loads_in_flight = {
    .name = "few_loads_in_flight",
    .title = "Waiting for each load before the next",
    .also = "latency hiding, Little's law, memory-level parallelism, instruction-level "
            "parallelism, ILP, long scoreboard, warp stalls, warp execution state, "
            "WarpStateStats, stall long scoreboard, Warp State Statistics, bytes in flight, "
            "software pipelining",
    .symptom = "neither memory nor arithmetic is busy: warps wait for what they have asked for",
    .cause = "a loop uses what it loads at once, so that a warp has one load on its way at a time",
    .fix = "ask for several before the first is used: unroll, or copy ahead (cp.async, TMA); or "
           "have more warps",
    .look = "the stall \"long scoreboard\" at the line that uses what was loaded",
    .cost = "registers for what is on its way",
    .section = "WarpStateStats",
    .rule = "CPIStall",
    .cuda = { "for (int row = 0; row < rows; row++)\n"
              "    sum += in[row * pitch + column];\n",
              "for (int row = 0; row < rows; row += 8) {\n"
              "    for (int n = 0; n < 8; n++)\n"
              "        x[n] = in[(row + n) * pitch + column];\n"
              "    for (int n = 0; n < 8; n++)\n"
              "        sum += x[n];\n"
              "}\n" },
    .triton = { "for row in range(rows):\n"
                "    total += tl.load(x + row * pitch + column)\n",
                "for row in tl.range(0, rows, num_stages=4):\n"
                "    total += tl.load(x + row * pitch + column)\n" },
    .pytorch = { "for row in x:\n"
                 "    total = total + row\n",
                 "total = x.sum(0)\n" },
    .launches = { LAUNCH("a load at a time"), LAUNCH("8 loads at a time") },
    .predicted = {
        { KERNEL_COUNT_BYTES_IN_FLIGHT, ON_ALL(LANES * BYTES), ON_ALL(LANES * BYTES * AHEAD) },
        /* As many loads as before. */
        { KERNEL_COUNT_GLOBAL_LOADS, ON_ALL(BLOCKS * THREADS / LANES * ROWS),
          ON_ALL(BLOCKS * THREADS / LANES * ROWS) },
    },
};
