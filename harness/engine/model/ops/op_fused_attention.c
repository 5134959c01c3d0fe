/* Attention whose scores are never stored in device memory: what forward keeps for backward grows
 * with the tokens and not with their square. The device's library computes it where it supports the
 * shape, else our own kernels do (kernels/model/tiled_attention.h). */
#include "harness/engine/model/ops/op_build.h"

#include <math.h>

static enum status tiled_forward(const struct op *op, const struct op_context *context)
{
    struct tensor *const *reads = op->forward.reads, *const *writes = op->forward.writes;
    const struct model_shape *shape = op->shape;

    return LAUNCH(context->stream, reads[0]->dtype, tiled_attention_forward,
                  ATTENTION_TILES(shape->samples * shape->heads, shape->tokens),
                  .y = writes[0]->data, .lse = writes[1]->data, .q = reads[0]->data,
                  .k = reads[1]->data, .v = reads[2]->data, .lengths = context->lengths,
                  .scale = attention_scale(shape), .width = shape->head_width,
                  .heads = shape->heads, .tokens = shape->tokens);
}

/* Two kernels: one by tiles of queries, which also makes delta, and one by tiles of keys, which
 * reads it. */
static enum status tiled_backward(const struct op *op, const struct op_context *context)
{
    struct tensor *const *reads = op->backward.reads, *const *writes = op->backward.writes;
    const struct model_shape *shape = op->shape;
    long tiles = ATTENTION_TILES(shape->samples * shape->heads, shape->tokens);

    TRY(LAUNCH(context->stream, reads[0]->dtype, tiled_attention_backward_query, tiles,
               .dq = writes[0]->data, .delta = writes[3]->data, .q = reads[1]->data,
               .k = reads[2]->data, .v = reads[3]->data, .y = reads[4]->data, .dy = reads[0]->data,
               .lse = reads[5]->data, .lengths = context->lengths, .scale = attention_scale(shape),
               .width = shape->head_width, .heads = shape->heads, .tokens = shape->tokens));
    return LAUNCH(context->stream, reads[0]->dtype, tiled_attention_backward_key, tiles,
                  .dk = writes[1]->data, .dv = writes[2]->data, .q = reads[1]->data,
                  .k = reads[2]->data, .v = reads[3]->data, .dy = reads[0]->data,
                  .lse = reads[5]->data, .delta = writes[3]->data, .lengths = context->lengths,
                  .scale = attention_scale(shape), .width = shape->head_width,
                  .heads = shape->heads, .tokens = shape->tokens);
}

struct attention_shape attention_shape(const struct model_shape *shape, bool lengths)
{
    return (struct attention_shape){
        .samples = shape->samples,
        .heads = shape->heads,
        .tokens = shape->tokens,
        .width = shape->head_width,
        .lengths = lengths,
        .dtype = shape->dtype,
        .packed = shape->strided_heads,
    };
}

static enum status library_forward(const struct op *op, const struct op_context *context)
{
    struct tensor *const *reads = op->forward.reads, *const *writes = op->forward.writes;

    return device_attention(context->stream,
                            &(struct fused_attention){
                                .shape = attention_shape(op->shape, context->lengths != NULL),
                                .scale = attention_scale(op->shape),
                                .y = writes[0]->data,
                                .statistics = writes[1]->data,
                                .q = reads[0]->data,
                                .k = reads[1]->data,
                                .v = reads[2]->data,
                                .lengths = context->lengths,
                                .workspace = writes[2]->data,
                            });
}

static enum status library_backward(const struct op *op, const struct op_context *context)
{
    struct tensor *const *reads = op->backward.reads, *const *writes = op->backward.writes;

    return device_attention(context->stream,
                            &(struct fused_attention){
                                .shape = attention_shape(op->shape, context->lengths != NULL),
                                .backward = true,
                                .scale = attention_scale(op->shape),
                                .y = reads[4]->data,
                                .statistics = reads[5]->data,
                                .q = reads[1]->data,
                                .k = reads[2]->data,
                                .v = reads[3]->data,
                                .lengths = context->lengths,
                                .dy = reads[0]->data,
                                .dq = writes[0]->data,
                                .dk = writes[1]->data,
                                .dv = writes[2]->data,
                                .workspace = writes[3]->data,
                            });
}

/* Flops as FlashAttention's authors count them: two products forward; backward the four gradients
 * and the scores once more, however often a kernel computes them. */
struct op op_fused_attention(const struct model_shape *shape, struct tensor *y, struct tensor *lse,
                             struct tensor *q, struct tensor *k, struct tensor *v,
                             struct tensor *scratch, bool library)
{
    struct op op = { .shape = shape };

    op.forward = (struct pass){ library ? library_forward : tiled_forward,
                                { q, k, v },
                                { y, lse, library ? scratch : NULL },
                                0,
                                2 * attention_product_flops(shape) };
    op.backward = (struct pass){ library ? library_backward : tiled_backward,
                                 { y->gradient, q, k, v, y, lse },
                                 { q->gradient, k->gradient, v->gradient, scratch },
                                 0,
                                 5 * attention_product_flops(shape) };
    op.repeated_flops = attention_product_flops(shape);
    return op;
}

/* The part of qkv, or of its gradient, where the vectors of q (0), k (1) or v (2) begin. */
static void *part(const struct model_shape *shape, const struct tensor *qkv, int index)
{
    return (char *)qkv->data + (size_t)(index * shape->width) * dtype_bytes(qkv->dtype);
}

/* q, k and v stay where their product has left them, in one row of a token beside each other. */
static struct fused_attention strided(const struct op *op, const struct op_context *context,
                                      const struct tensor *qkv)
{
    const struct model_shape *shape = op->shape;

    return (struct fused_attention){
        .shape = attention_shape(shape, context->lengths != NULL),
        .scale = attention_scale(shape),
        .q = part(shape, qkv, 0),
        .k = part(shape, qkv, 1),
        .v = part(shape, qkv, 2),
        .lengths = context->lengths,
    };
}

static enum status strided_forward(const struct op *op, const struct op_context *context)
{
    struct tensor *const *writes = op->forward.writes;
    struct fused_attention attention = strided(op, context, op->forward.reads[0]);

    attention.y = writes[0]->data;
    attention.statistics = writes[1]->data;
    attention.workspace = writes[2]->data;
    return device_attention(context->stream, &attention);
}

static enum status strided_backward(const struct op *op, const struct op_context *context)
{
    struct tensor *const *reads = op->backward.reads, *const *writes = op->backward.writes;
    struct fused_attention attention = strided(op, context, reads[1]);

    attention.backward = true;
    attention.y = reads[2]->data;
    attention.statistics = reads[3]->data;
    attention.dy = reads[0]->data;
    attention.dq = part(op->shape, writes[0], 0);
    attention.dk = part(op->shape, writes[0], 1);
    attention.dv = part(op->shape, writes[0], 2);
    attention.workspace = writes[1]->data;
    return device_attention(context->stream, &attention);
}

struct op op_strided_attention(const struct model_shape *shape, struct tensor *y,
                               struct tensor *lse, struct tensor *qkv, struct tensor *scratch)
{
    struct op op = { .shape = shape };

    op.forward = (struct pass){
        strided_forward, { qkv }, { y, lse, scratch }, 0, 2 * attention_product_flops(shape)
    };
    op.backward = (struct pass){ strided_backward,
                                 { y->gradient, qkv, y, lse },
                                 { qkv->gradient, scratch },
                                 0,
                                 5 * attention_product_flops(shape) };
    op.repeated_flops = attention_product_flops(shape);
    return op;
}
