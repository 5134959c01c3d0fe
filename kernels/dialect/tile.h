/* Products of tiles, for kernels that keep matrices of numbers between loads: a part of the dialect
 * that only they need.
 *
 * A row of such a kernel is a tile of TILE_COLUMNS vectors of `width` elements, neighbours in a
 * matrix [count, width]. Here they are columns: a lane holds OWN of them, and of each the elements
 * that it has a register for. On the CPU the one lane holds all of every vector, so that a vector
 * register goes across the columns; on CUDA a lane holds TILE_PART elements of one vector, width /
 * TILE_PART lanes make a whole vector, and a tile takes as many rounds. Other matrices pass by,
 * TAKEN rows at a time. Every product is then either of two, and neither needs a transposed
 * operand:
 *
 *   tile_products(s, rows, x)     s[j] = row j times column, of each column
 *   tile_accumulate(y, p, rows)   y += sum over j of p[j] times row j, into each column
 *
 * with struct own, a number for each column the lane holds, as the element. TILE_ROUNDS(tile,
 * width, first, count) runs its body with `struct tile tile` for each round of the vectors from
 * `first` on; OWNED(i) visits the columns of a lane, TILE_ELEMENTS(c, tile) the elements of them
 * that it holds, TAKEN_ROWS(j) the rows. tile_load() and tile_store() move vectors, own_load() and
 * own_store() one float a vector; vectors from `count` on are not stored, and hold what the last
 * one does. own_sum() adds up what the lanes of one vector hold.
 *
 * Widths are multiples of 32, up to TILE_WIDTH_MOST, on CUDA powers of two. */
#pragma once

#include "kernels/dialect/kernel.h"

enum { TILE_COLUMNS = 32, TILE_WIDTH_MOST = 128 };

#ifdef __CUDACC__
#include "kernels/dialect/tile_cuda.h"
#else
#include "kernels/dialect/tile_cpu.h"
#endif

KERNEL_INLINE struct own own_of(float value)
{
    struct own own;
    OWNED(i) own.v[i] = value;
    return own;
}
