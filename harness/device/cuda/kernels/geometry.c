/* A block has a fixed number of threads; how much work it does depends on the kernel's shape. */
#include "harness/device/cuda/kernels/geometry.h"

int64_t geometry_blocks(enum geometry_shape shape, size_t element_bytes, int64_t count)
{
    const int64_t pack = GEOMETRY_PACK_BYTES / (int64_t)element_bytes;
    const int64_t rows = GEOMETRY_BLOCK / GEOMETRY_LANES;
    const int64_t counts_of_a_block[] = {
        [GEOMETRY_PACKS] = GEOMETRY_BLOCK * pack,
        [GEOMETRY_ROWS] = rows,
        [GEOMETRY_COLUMNS] = rows * pack,
    };

    /* Not (a + b - 1) / b, which may overflow. */
    return count / counts_of_a_block[shape] + (count % counts_of_a_block[shape] != 0);
}
