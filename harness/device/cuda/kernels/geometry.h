/* How many threads a kernel needs: the grid from its shape, its storage type and its count. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum geometry_shape { GEOMETRY_PACKS, GEOMETRY_ROWS, GEOMETRY_COLUMNS };

enum {
    GEOMETRY_BLOCK = 256,     /* threads; 8 warps, so that 8 blocks fill an SM of 2048 threads */
    GEOMETRY_LANES = 32,      /* threads that compute one row together: LANES of kernel.h */
    GEOMETRY_PACK_BYTES = 16, /* of storage that one thread moves at once: PACK of kernel.h */
    GEOMETRY_BLOCKS_MAX = INT32_MAX /* CUDA C++ Programming Guide, "Technical specifications" */
};

/* Blocks of GEOMETRY_BLOCK threads for `count` elements of `element_bytes` (PACKS), rows (ROWS) or
 * columns of such elements (COLUMNS); at least 1. More than GEOMETRY_BLOCKS_MAX do not fit in a
 * grid. */
int64_t geometry_blocks(enum geometry_shape shape, size_t element_bytes, int64_t count);
