/* Shared by the files that build ops. */
#ifndef SCENARIOS_TRAINING_MODEL_OP_BUILD_H
#define SCENARIOS_TRAINING_MODEL_OP_BUILD_H

#include "scenarios/training/model/op.h"

/* dbias (+)= column sums of dy [rows, width], by way of `partial`. */
enum status column_sums(const struct op_context *context, const struct tensor *dbias,
                        const struct tensor *dy, const struct tensor *partial, int rows, int width);

/* Flops of the product of every head's [tokens, head_width] matrix with another, into or out of [tokens,
 * tokens]. */
int64_t attention_product_flops(const struct model_shape *shape);

float attention_scale(const struct model_shape *shape); /* of the scores: 1 / sqrt(head_width) */

#endif
