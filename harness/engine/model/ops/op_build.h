/* Shared by the files that build or run ops: column sums, the products of attention and of
 * linear layers. */
#pragma once

#include "harness/engine/model/ops/op.h"

/* Flops of the product of every head's [tokens, head_width] matrix with another, into or out of
 * [tokens, tokens]. */
int64_t attention_product_flops(const struct model_shape *shape);

float attention_scale(const struct model_shape *shape); /* of the scores: 1 / sqrt(head_width) */

/* c = a b with batch 1 and the op's math; sizes, and whether a factor is transposed, are still to
 * be set. */
struct gemm op_gemm(const struct op *op, const struct tensor *c, const struct tensor *a,
                    const struct tensor *b);

/* --- Column sums --- */

/* Sums over the rows of a gradient, column by column: the gradients of biases and of a
 * normalisation's parameters. Parts of the rows are summed up first, and columns_finish adds the
 * parts up in a fixed order, so that every run gives the same bits.
 *
 * On the CPU device a part is 64 rows, whole. A GPU wants many loads on their way at a time: 4.3
 * TB/s at a latency of 700 ns are 3 MB (Little's law), which 25216 rows in whole parts of 64, 394
 * warps for the 132 multiprocessors of an H200, do not have. So a part is 32 rows there, and a warp
 * takes only as many of their columns as one load of 16 bytes per lane: 2364 warps where rows are
 * 768 wide in bf16. */

/* Sets the shape's column_chunk and column_bytes. */
void column_sums_choose(struct model_shape *shape, const struct device_properties *device);

/* A matrix [rows, width] in `parts` of at most `chunk` rows; each is summed up by ceil(width /
 * columns) rows of the grid, `count` in all. */
struct column_grid {
    int chunk, columns, parts;
    long count;
};
struct column_grid column_grid(const struct model_shape *shape, enum dtype dtype, int rows,
                               int width);

/* dbias (+)= column sums of dy [rows, width], by way of `partial`, fp32 [parts, width]. */
enum status column_sums(const struct model_shape *shape, const struct op_context *context,
                        const struct tensor *dbias, const struct tensor *dy,
                        const struct tensor *partial, int rows, int width);
