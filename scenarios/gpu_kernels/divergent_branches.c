/* Lanes of one warp that take both sides of a branch. */
#include "harness/lab/kernel/lesson.h"

enum { LANES = 32, THREADS = 256, COUNT = 65536, KINDS = 2 };

/* The instructions of the two sides, with half of the lanes each, and of what is around them, with
 * all: 16 steps of a polynomial, and 8 of Newton's method of 4 or 5 instructions. */
enum { POLYNOMIAL = 16, ROOT = 8 * 4 + 4, AROUND = 20 };
#define HALF_OF_THE_TIME                                                                           \
    ((double)(LANES / KINDS * (POLYNOMIAL + ROOT) + LANES * AROUND) / (POLYNOMIAL + ROOT + AROUND))

#define LAUNCH(how, count)                                                                         \
    LESSON_LAUNCH(how, ON_ALL(count / THREADS), THREADS, LESSON_FLOATS(COUNT), LESSON_RESULT(COUNT))

const struct kernel_lesson kernel_lesson_divergent_branches = {
    .name = "divergent_branches",
    .title = "Lanes of one warp on both sides of a branch",
    .also = "warp divergence, branch divergence, thread divergence, branch efficiency, SIMT, "
            "predication",
    .symptom = "instructions are issued without a pause, and half of the lanes do nothing in each",
    .cause = "the branch depends on the lane: the warp executes both sides, one after the other",
    .fix = "let the branch depend on the warp or the block (sort the work by kind), or give each "
           "thread one of each kind",
    .look = "active threads per warp: close to 16 in both sides of the branch",
    .cost = "sorting costs a pass of its own; short sides are predicated by the compiler and cost "
            "little as they are",
    .section = "WarpStateStats",
    .rule = "ThreadDivergence",
    .cuda = { "if (i % 2 == 0)\n"
              "    out[i] = polynomial(x);\n"
              "else\n"
              "    out[i] = inverse_root(x);\n",
              "out[i] = make_float2(polynomial(x.x), inverse_root(x.y));\n" },
    .triton = { "y = tl.where(i % 2 == 0, polynomial(x), root(x))\n",
                "y = tl.interleave(polynomial(even), root(odd))\n" },
    .pytorch = { "y = torch.where(is_even, polynomial(x), x.rsqrt())\n",
                 "y[0::2] = polynomial(x[0::2])\n"
                 "y[1::2] = x[1::2].rsqrt()\n" },
    .launches = { LAUNCH("a kind per lane", COUNT), LAUNCH("both kinds in a lane", COUNT / KINDS) },
    .predicted = {
        { KERNEL_COUNT_DIVERGED_BRANCHES, ON_ALL(COUNT / LANES), ON_ALL(0) },
        { KERNEL_COUNT_LANES_PER_INSTRUCTION, ON_ALL(HALF_OF_THE_TIME), ON_ALL(LANES),
          .within = 0.05 },
    },
};
