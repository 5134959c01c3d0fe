/* A warp whose lanes read down a column.
 *
 * PyTorch walks a single tensor in the order of its memory, a transposed view too. Two tensors of
 * different orders have no such order (TensorIterator's reorder_dimensions()). */
#include "harness/lab/kernel/lesson.h"

enum { LANES = 32, SECTOR = 32, FLOAT = 4, SIZE = 256, THREADS = 256 };

#define LAUNCH(how)                                                                                \
    LESSON_LAUNCH(how, ON_ALL(SIZE *SIZE / THREADS), THREADS, LESSON_FLOATS(SIZE *SIZE),           \
                  LESSON_RESULT(SIZE *SIZE), LESSON_INTEGER(SIZE), LESSON_INTEGER(SIZE))

const struct kernel_lesson kernel_lesson_uncoalesced_access = {
    .name = "uncoalesced_access",
    .title = "Lanes that read down a column",
    .also = "coalescing, memory coalescing, strided access, sectors per request, "
            "MemoryWorkloadAnalysis, uncoalesced global accesses, SourceCounters, global memory",
    .symptom = "memory is busy, and an eighth of the bytes that it moves are used",
    .cause = "neighbouring lanes are a row apart, so that each one's number is in a sector of its "
             "own",
    .fix = "let neighbouring lanes have neighbouring addresses: the fastest index is the thread's "
           "x; or transpose a tile of the matrix in shared memory",
    .look = "sectors per request: 32, where 4 hold what a warp of floats wants",
    .cost = "none where only the order of the threads changes; a layout that suits one kernel may "
            "not suit the next",
    .section = "SourceCounters",
    .rule = "UncoalescedGlobalAccess",
    .cuda = { "int row = i % rows, column = i / rows;\n",
              "int row = i / columns, column = i % columns;\n" },
    .triton = { "offsets = tl.arange(0, BLOCK) * columns + column\n"
                "x = tl.load(matrix + offsets)\n",
                "offsets = row * columns + tl.arange(0, BLOCK)\n"
                "x = tl.load(matrix + offsets)\n" },
    .pytorch = { "y = x.t() + z  # z is contiguous, x.t() a view\n",
                 "y = xt + z  # xt = x.t().contiguous(), if used often\n" },
    .launches = { LAUNCH("lanes down a column"), LAUNCH("lanes along a row") },
    .predicted = {
        /* Each lane's float is in a sector of its own; in a row, 8 floats share one. */
        { KERNEL_COUNT_SECTORS_PER_LOAD, ON_ALL(LANES), ON_ALL(LANES * FLOAT / SECTOR) },
        { KERNEL_COUNT_SECTORS_PER_STORE, ON_ALL(LANES), ON_ALL(LANES * FLOAT / SECTOR) },
        /* The number of requests is the same. */
        { KERNEL_COUNT_GLOBAL_LOADS, ON_ALL(SIZE * SIZE / LANES), ON_ALL(SIZE * SIZE / LANES) },
    },
};
