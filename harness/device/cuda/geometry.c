#include "harness/device/cuda/geometry.h"

static int64_t quotient_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

int64_t geometry_blocks(enum geometry_shape shape, size_t element_bytes, int64_t count)
{
    int64_t pack = GEOMETRY_PACK_BYTES / (int64_t)element_bytes;
    int64_t units_a_block =
        shape == GEOMETRY_ROWS ? GEOMETRY_BLOCK / GEOMETRY_LANES : GEOMETRY_BLOCK * pack;

    return quotient_up(count, units_a_block);
}
