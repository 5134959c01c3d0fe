/* Loads and stores of 4 bytes a lane where 16 would do. */
#include "harness/lab/kernel/lesson.h"

enum { LANES = 32, SECTOR = 32, FLOAT = 4, EACH = 4, THREADS = 256, BLOCKS = 64 };
enum { WARPS = BLOCKS * THREADS / LANES };

#define LAUNCH(how)                                                                                \
    LESSON_LAUNCH(how, ON_ALL(BLOCKS), THREADS, LESSON_FLOATS(BLOCKS *THREADS *EACH),              \
                  LESSON_RESULT(BLOCKS *THREADS *EACH))

const struct kernel_lesson kernel_lesson_scalar_access = {
    .name = "scalar_access",
    .title = "Loading 4 bytes a lane where 16 would do",
    .also = "vectorised loads, vectorized memory access, float4, LG throttle",
    .symptom = "the queue of the load and store unit is full, and memory is not",
    .cause = "each float is a load of its own: four requests, addresses and instructions for what "
             "one could ask",
    .fix = "load and store float4 (16 bytes a lane), from addresses that are multiples of 16",
    .look = "requests: four times as many as needed, of 4 sectors each instead of 16",
    .cost = "rows must begin at multiples of 16 bytes, and what is left of a row takes a loop of "
            "its own",
    .section = "WarpStateStats",
    .rule = "CPIStall",
    .cuda = { "for (int n = 0; n < 4; n++) {\n"
              "    int i = first + n * blockDim.x;\n"
              "    out[i] = 2.0f * in[i] + 1.0f;\n"
              "}\n",
              "float4 x = ((const float4 *)in)[i];\n"
              "((float4 *)out)[i] = make_float4(...);\n" },
    .triton = { .instead = "tl.load() of a block does it, if the block has 4 numbers per thread "
                           "and the compiler knows that they begin at a multiple of 16 bytes "
                           "(tl.multiple_of, tl.max_contiguous)" },
    .pytorch = { .instead = "its element-wise kernels do it, except for tensors that are not "
                            "contiguous or begin at odd places" },
    .launches = { LAUNCH("float"), LAUNCH("float4") },
    .predicted = {
        { KERNEL_COUNT_GLOBAL_LOADS, ON_ALL(WARPS * EACH), ON_ALL(WARPS) },
        { KERNEL_COUNT_GLOBAL_STORES, ON_ALL(WARPS * EACH), ON_ALL(WARPS) },
        { KERNEL_COUNT_SECTORS_PER_LOAD, ON_ALL(LANES * FLOAT / SECTOR),
          ON_ALL(LANES * FLOAT * EACH / SECTOR) },
        /* As many bytes as before. */
        { KERNEL_COUNT_LOAD_SECTORS, ON_ALL(WARPS * EACH * LANES * FLOAT / SECTOR),
          ON_ALL(WARPS * EACH * LANES * FLOAT / SECTOR) },
    },
};
