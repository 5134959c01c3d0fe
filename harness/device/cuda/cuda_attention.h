/* cuDNN's fused attention: plans by shape, made once, and run with a workspace of the caller's. */
#pragma once

#include "harness/device/cuda/cuda.h"

/* NULL where there is no cuDNN, which is not a failure: properties.attention_library has the
 * reason. Sets properties.fused_attention. */
void attentions_open(struct attentions **attentions, struct cuda_device *device);
void attentions_close(struct attentions *attentions); /* the device's work is done; NULL allowed */

enum status cuda_attention_plan(struct device *device, const struct attention_shape *shape,
                                size_t *workspace_bytes);
enum status cuda_attention(struct stream *stream, const struct fused_attention *attention);
