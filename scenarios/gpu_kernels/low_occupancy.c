/* Shared memory for the largest case. */
#include "harness/lab/kernel/lesson.h"

enum { LANES = 32, THREADS = 128, BLOCKS = 256, WARPS_OF_A_BLOCK = THREADS / LANES };

/* A block takes its shared memory and a KiB for the system, of what the multiprocessor has. */
enum { KIB_OF_A_BLOCK = 40 + 1, WARPS_MOST = 64 };
#define WARPS_THAT_FIT(shared_kib) (shared_kib / KIB_OF_A_BLOCK * WARPS_OF_A_BLOCK)

#define LAUNCH(how)                                                                                \
    LESSON_LAUNCH(how, ON_ALL(BLOCKS), THREADS, LESSON_FLOATS(BLOCKS *THREADS),                    \
                  LESSON_RESULT(BLOCKS *THREADS))

const struct kernel_lesson kernel_lesson_low_occupancy = {
    .name = "low_occupancy",
    .title = "A few blocks that take all shared memory",
    .also = "occupancy, theoretical occupancy, achieved occupancy, resident warps, issue "
            "efficiency, SchedulerStats, Scheduler Statistics, eligible warps, blocks per SM",
    .symptom = "few warps are resident, and the scheduler often finds none that is ready",
    .cause = "each block takes shared memory for the largest case, so that few blocks fit on a "
             "multiprocessor",
    .fix = "take what the case at hand needs (dynamic shared memory), or let larger blocks share "
           "it",
    .look = "theoretical occupancy, and its limit: shared memory",
    .cost = "none where the memory was not used; elsewhere less of it means less reuse, and many "
            "kernels are fastest at low occupancy with much work per thread",
    .section = "Occupancy",
    .rule = "TheoreticalOccupancy",
    .cuda = { "__shared__ float values[10240];\n", "__shared__ float values[128];\n" },
    .triton = { "kernel[grid](x, BLOCK=128, num_stages=8)\n",
                "kernel[grid](x, BLOCK=128, num_stages=3)\n" },
    .pytorch = { .instead = "the libraries choose; torch.compile(mode=\"max-autotune\") tries "
                            "several sizes" },
    .launches = { LAUNCH("40 KiB per block"), LAUNCH("512 bytes per block") },
    .predicted = {
        { KERNEL_COUNT_RESIDENT_WARPS,
          { WARPS_THAT_FIT(164), WARPS_THAT_FIT(228), WARPS_THAT_FIT(228) },
          ON_ALL(WARPS_MOST) },
    },
};
