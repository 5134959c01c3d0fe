/* Every kernel once: its name, its shape, its work and its argument struct.
 *
 * Shapes: PACKS kernels are launched with a count of elements, ROWS kernels with a count of rows of
 * `width` elements (each ROWS struct has an `int width`), COLUMNS kernels with a count of columns,
 * whose rows the lanes share. Counts of elements and widths are multiples of ROW_MULTIPLE, tensors
 * are 64-byte aligned (device_alloc's are), and tensors are row-major.
 *
 * `real` is the storage type, fp32, bf16 or fp16; arithmetic is in fp32. The host sees tensors as
 * void, so that one struct serves every storage type. Everything here is deterministic: no
 * atomics. */
#pragma once

#include <stdint.h>

#ifndef KERNELS_DIALECT_KERNEL_H /* kernel.h has defined it as the storage type */
typedef void real;
#endif

enum { ROW_MULTIPLE = 32 };

#include "kernels/checksum.h"
#include "kernels/cross_entropy.h"
#include "kernels/fill.h"
#include "kernels/image.h"
#include "kernels/model/attention.h"
#include "kernels/model/bias.h"
#include "kernels/model/embedding.h"
#include "kernels/model/experts.h"
#include "kernels/model/gelu.h"
#include "kernels/model/layernorm.h"
#include "kernels/model/residual.h"
#include "kernels/model/tiled_attention.h"
#include "kernels/optimizer.h"

/* A kernel's work, by which its rate is judged: the rows of KERNELS have it after name and shape,
 * the rest by name if it is not 0. It is per element of the kernel's largest tensor unless it
 * says otherwise. An exponential, a root and a division are a flop each. Biases and a norm's
 * weights stay in a cache and do not count. */
struct kernel_work {
    int reads, writes; /* of elements in the storage type */
    int flops; /* of tiled attention: per key; of heads: without a bias; of softmax: if a row fits
                * into registers */
    int bytes_read, bytes_written; /* of data in other types */
    int narrowed;              /* writes in 16 bits alone: in fp32 the master is the parameter */
    int row_bytes;             /* per row, read or written: statistics, labels, a row's sum */
    int sum_bytes, sum_writes; /* per sum over rows: bytes of fp32, writes in the storage type */
};

#define KERNELS(X)                                                                                 \
    X(split_heads_forward, ROWS, 1, 1, 0)                                                          \
    X(split_heads_backward, ROWS, 1, 1, 0)                                                         \
    X(merge_heads_forward, ROWS, 1, 1, 0)                                                          \
    X(merge_heads_backward, ROWS, 1, 1, 0)                                                         \
    X(softmax_forward, ROWS, 1, 1, 6)                                                              \
    X(softmax_backward, ROWS, 2, 1, 5)                                                             \
    X(bias_add, ROWS, 1, 1, 1)                                                                     \
    X(bias_backward, ROWS, 1, 0, 1, .sum_bytes = 4)                                                \
    X(columns_finish, COLUMNS, 0, 0, 1, .bytes_read = 4, .sum_writes = 1)                          \
    X(checksum, ROWS, 0, 0, 0, .bytes_read = 4, .row_bytes = 4)                                    \
    X(cross_entropy_forward, ROWS, 1, 0, 4, .row_bytes = 8)                                        \
    X(cross_entropy_backward, ROWS, 1, 1, 9, .row_bytes = 4)                                       \
    X(count_right, ROWS, 1, 0, 2, .row_bytes = 12)                                                 \
    X(hard_rows, ROWS, 0, 0, 1, .row_bytes = 8)                                                    \
    X(loss_mean, ROWS, 0, 0, 1, .bytes_read = 4)                                                   \
    X(token_embedding_forward, ROWS, 2, 1, 1, .row_bytes = 4)                                      \
    X(token_embedding_backward, ROWS, 1, 0, 1, .sum_writes = 1)                                    \
    X(patch_embedding_forward, ROWS, 1, 1, 2)                                                      \
    X(patch_embedding_backward, ROWS, 1, 1, 0)                                                     \
    X(positions_backward, PACKS, 1, 0, 1, .sum_writes = 1)                                         \
    X(route_tokens, ROWS, 1, 0, 6, .row_bytes = 8)                                                 \
    X(route_tokens_backward, ROWS, 1, 1, 8, .row_bytes = 8)                                        \
    X(dispatch_tokens, ROWS, 1, 1, 0, .row_bytes = 8)                                              \
    X(count_tokens, ROWS, 0, 0, 0, .row_bytes = 4)                                                 \
    X(combine_tokens, ROWS, 1, 1, 1, .row_bytes = 8)                                               \
    X(combine_tokens_backward, ROWS, 2, 1, 3, .row_bytes = 12)                                     \
    X(balance_experts, ROWS, 0, 0, 0)                                                              \
    X(fill, PACKS, 0, 1, 0)                                                                        \
    X(cast_from_float, PACKS, 0, 1, 0, .bytes_read = 4)                                            \
    X(cast_to_float, PACKS, 1, 0, 0, .bytes_written = 4)                                           \
    X(cast_to_double, PACKS, 1, 0, 0, .bytes_written = 8)                                          \
    X(cast_from_double, PACKS, 0, 1, 0, .bytes_read = 8)                                           \
    X(triad, PACKS, 2, 1, 2)                                                                       \
    X(gelu_forward, PACKS, 1, 1, 8)                                                                \
    X(gelu_backward, PACKS, 2, 1, 17)                                                              \
    X(bias_gelu_forward, ROWS, 1, 1, 9)                                                            \
    X(bias_gelu_backward, ROWS, 2, 1, 18)                                                          \
    X(image_patches, ROWS, 0, 1, 2, .bytes_read = 1)                                               \
    X(image_patches_of_floats, ROWS, 0, 1, 2, .bytes_read = 4)                                     \
    X(layernorm_forward, ROWS, 1, 1, 8, .row_bytes = 8)                                            \
    X(layernorm_backward, ROWS, 2, 1, 11, .row_bytes = 8)                                          \
    X(layernorm_backward_weight, ROWS, 2, 0, 5, .row_bytes = 8, .sum_bytes = 8)                    \
    X(residual_layernorm_forward, ROWS, 2, 2, 10, .row_bytes = 8)                                  \
    X(residual_layernorm_backward, ROWS, 3, 1, 12, .row_bytes = 8)                                 \
    X(residual_add, PACKS, 2, 1, 1)                                                                \
    X(bias_residual, ROWS, 2, 1, 2)                                                                \
    X(step_advance, ROWS, 0, 0, 0)                                                                 \
    X(square_sum, ROWS, 1, 0, 2, .row_bytes = 4)                                                   \
    X(square_sum_multi, ROWS, 1, 0, 2, .row_bytes = 4)                                             \
    X(gradient_norm_finish, ROWS, 0, 0, 1, .bytes_read = 4)                                        \
    X(loss_scale_update, ROWS, 0, 0, 0)                                                            \
    X(adamw, PACKS, 1, 0, 15, .bytes_read = 12, .bytes_written = 12, .narrowed = 1)                \
    X(adamw_multi, ROWS, 1, 0, 15, .bytes_read = 12, .bytes_written = 12, .narrowed = 1)           \
    X(adamw_decay, PACKS, 0, 0, 1, .bytes_read = 4, .bytes_written = 4)                            \
    X(adamw_momentum, PACKS, 1, 0, 4, .bytes_read = 4, .bytes_written = 4)                         \
    X(adamw_variance, PACKS, 1, 0, 5, .bytes_read = 4, .bytes_written = 4)                         \
    X(adamw_root, PACKS, 0, 0, 1, .bytes_read = 4, .bytes_written = 4)                             \
    X(adamw_denominator, PACKS, 0, 0, 2, .bytes_read = 4, .bytes_written = 4)                      \
    X(adamw_update, PACKS, 0, 0, 3, .bytes_read = 12, .bytes_written = 4, .narrowed = 1)           \
    X(tiled_attention_forward, ROWS, 3, 1, 4, .row_bytes = 4)                                      \
    X(tiled_attention_backward_query, ROWS, 5, 1, 6, .row_bytes = 8)                               \
    X(tiled_attention_backward_key, ROWS, 4, 2, 8, .row_bytes = 8)

enum kernel {
#define KERNEL_ID(name, shape, ...) KERNEL_##name,
    KERNELS(KERNEL_ID)
#undef KERNEL_ID
        KERNEL_COUNT
};
