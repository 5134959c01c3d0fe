/* Shared by the files that build ops. */
#ifndef HARNESS_ENGINE_MODEL_OPS_OP_BUILD_H
#define HARNESS_ENGINE_MODEL_OPS_OP_BUILD_H

#include "harness/engine/model/ops/op.h"

/* Flops of the product of every head's [tokens, head_width] matrix with another, into or out of
 * [tokens, tokens]. */
int64_t attention_product_flops(const struct model_shape *shape);

float attention_scale(const struct model_shape *shape); /* of the scores: 1 / sqrt(head_width) */

/* The forward pass of a GELU without bias, with op->host for its copies. */
enum status host_gelu_pass(const struct op *op, const struct op_context *context);

#endif
