/* Every kernel once: its name, its shape and its argument struct.
 *
 * Shapes: PACKS kernels are launched with a count of elements, ROWS kernels with a count of rows of
 * `width` elements (each ROWS struct has an `int width`), COLUMNS kernels with a count of columns, whose
 * rows the lanes share. Counts of elements and widths are multiples
 * of ROW_MULTIPLE, tensors are 64-byte aligned (device_alloc's are), and tensors are row-major.
 *
 * `real` is the storage type, fp32, bf16 or fp16; arithmetic is in fp32. The host sees tensors as void, so
 * that one struct serves every storage type. Everything here is deterministic: no atomics. */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include <stdint.h>

#ifndef KERNELS_KERNEL_H /* kernel.h has defined it as the storage type */
typedef void real;
#endif

enum { ROW_MULTIPLE = 32 };

#include "kernels/attention.h"
#include "kernels/bias.h"
#include "kernels/checksum.h"
#include "kernels/cross_entropy.h"
#include "kernels/embedding.h"
#include "kernels/fill.h"
#include "kernels/gelu.h"
#include "kernels/image.h"
#include "kernels/layernorm.h"
#include "kernels/optimizer.h"
#include "kernels/residual.h"
#include "kernels/tiled_attention.h"

#define KERNELS(X)                                                                                 \
    X(split_heads_forward, ROWS)                                                                   \
    X(split_heads_backward, ROWS)                                                                  \
    X(merge_heads_forward, ROWS)                                                                   \
    X(merge_heads_backward, ROWS)                                                                  \
    X(softmax_forward, ROWS)                                                                       \
    X(softmax_backward, ROWS)                                                                      \
    X(bias_add, ROWS)                                                                              \
    X(bias_backward, ROWS)                                                                         \
    X(columns_finish, COLUMNS)                                                                     \
    X(checksum, ROWS)                                                                              \
    X(cross_entropy_forward, ROWS)                                                                 \
    X(cross_entropy_backward, ROWS)                                                                \
    X(loss_mean, ROWS)                                                                             \
    X(token_embedding_forward, ROWS)                                                               \
    X(token_embedding_backward, ROWS)                                                              \
    X(patch_embedding_forward, ROWS)                                                               \
    X(patch_embedding_backward, ROWS)                                                              \
    X(positions_backward, PACKS)                                                                   \
    X(fill, PACKS)                                                                                 \
    X(cast_from_float, PACKS)                                                                      \
    X(cast_to_float, PACKS)                                                                        \
    X(triad, PACKS)                                                                                \
    X(gelu_forward, PACKS)                                                                         \
    X(gelu_backward, PACKS)                                                                        \
    X(bias_gelu_forward, ROWS)                                                                     \
    X(bias_gelu_backward, ROWS)                                                                    \
    X(image_patches, ROWS)                                                                         \
    X(layernorm_forward, ROWS)                                                                     \
    X(layernorm_backward, ROWS)                                                                    \
    X(layernorm_backward_weight, ROWS)                                                             \
    X(residual_layernorm_forward, ROWS)                                                            \
    X(residual_layernorm_backward, ROWS)                                                           \
    X(residual_add, PACKS)                                                                         \
    X(bias_residual, ROWS)                                                                         \
    X(step_advance, ROWS)                                                                          \
    X(square_sum, ROWS)                                                                            \
    X(square_sum_multi, ROWS)                                                                      \
    X(gradient_norm_finish, ROWS)                                                                  \
    X(loss_scale_update, ROWS)                                                                     \
    X(adamw, PACKS)                                                                                \
    X(adamw_multi, ROWS)                                                                           \
    X(adamw_decay, PACKS)                                                                          \
    X(adamw_momentum, PACKS)                                                                       \
    X(adamw_variance, PACKS)                                                                       \
    X(adamw_root, PACKS)                                                                           \
    X(adamw_denominator, PACKS)                                                                    \
    X(adamw_update, PACKS)                                                                         \
    X(tiled_attention_forward, ROWS)                                                               \
    X(tiled_attention_backward_query, ROWS)                                                        \
    X(tiled_attention_backward_key, ROWS)

enum kernel {
#define KERNEL_ID(name, shape) KERNEL_##name,
    KERNELS(KERNEL_ID)
#undef KERNEL_ID
        KERNEL_COUNT
};

#endif
