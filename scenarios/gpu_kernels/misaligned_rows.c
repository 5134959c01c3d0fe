/* Rows that begin inside a sector. */
#include "harness/lab/kernel/lesson.h"

enum { LANES = 32, SECTOR = 32, FLOAT = 4, COLUMNS = 128, ROWS = 512 };
enum { ALIGNED = LANES * FLOAT / SECTOR, IN_A_SECTOR = SECTOR / FLOAT };

#define ARRAY(pattern, stride)                                                                     \
    {                                                                                              \
        KERNEL_F32, ROWS *(stride), pattern, .row = stride, .filled = COLUMNS                      \
    }
#define LAUNCH(how, stride)                                                                        \
    LESSON_LAUNCH(how, ON_ALL(ROWS), COLUMNS, ARRAY(KERNEL_SMALL, stride),                         \
                  ARRAY(KERNEL_ZERO, stride))

/* Rows of 129 floats begin a float later each time: one of 8 begins with a sector, and the others'
 * requests touch one sector more. */
#define SHIFTED ((double)(ALIGNED + (IN_A_SECTOR - 1) * (ALIGNED + 1)) / IN_A_SECTOR)

const struct kernel_lesson kernel_lesson_misaligned_rows = {
    .name = "misaligned_rows",
    .title = "Rows that begin inside a sector",
    .also = "alignment, misaligned access, unaligned access, cudaMallocPitch",
    .symptom = "lanes have neighbouring addresses, and yet a fifth more sectors are touched than "
               "needed",
    .cause = "a row's length is no multiple of 8 floats, so that rows begin anywhere in a sector "
             "of 32 bytes",
    .fix = "pad the rows: a pitch that is a multiple of 32 bytes (cudaMallocPitch takes more)",
    .look = "sectors per request: close to 5, where 4 hold what a warp of floats wants",
    .cost = "the padding's memory; caches may hide the fifth sector where the next request wants "
            "it too",
    .section = "MemoryWorkloadAnalysis_Tables",
    .rule = "MemoryCacheAccessPattern",
    .cuda = { "const float *row = matrix + y * 129;\n", "const float *row = matrix + y * 136;\n" },
    .triton = { "row = matrix + tl.program_id(0) * 129\n",
                "row = matrix + tl.program_id(0) * 136\n" },
    .pytorch = { "x = torch.zeros(512, 129)[:, :128]\n", "x = torch.zeros(512, 136)[:, :128]\n" },
    .launches = { LAUNCH("129 floats apart", COLUMNS + 1),
                  LAUNCH("136 floats apart", COLUMNS + IN_A_SECTOR) },
    .predicted = {
        { KERNEL_COUNT_SECTORS_PER_LOAD, ON_ALL(SHIFTED), ON_ALL(ALIGNED) },
        { KERNEL_COUNT_SECTORS_PER_STORE, ON_ALL(SHIFTED), ON_ALL(ALIGNED) },
    },
};
