/* A block has a fixed number of threads; how much work it does depends on the kernel's shape. */
#include "harness/device/cuda/kernels/geometry.h"

static int64_t quotient_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

int64_t geometry_blocks(enum geometry_shape shape, size_t element_bytes, int64_t count)
{
    const int64_t pack = GEOMETRY_PACK_BYTES / (int64_t)element_bytes;
    const int64_t rows = GEOMETRY_BLOCK / GEOMETRY_LANES;
    const int64_t counts_of_a_block[] = {
        [GEOMETRY_PACKS] = GEOMETRY_BLOCK * pack,
        [GEOMETRY_ROWS] = rows,
        [GEOMETRY_COLUMNS] = rows * pack,
    };

    return quotient_up(count, counts_of_a_block[shape]);
}
