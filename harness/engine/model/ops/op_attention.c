/* Attention with its scores in memory: three batched products and a softmax between them.
 *
 * One product of a batch is one head of one sample. */
#include "harness/engine/model/ops/op_build.h"

#include <math.h>

static enum status split_forward(const struct op *op, const struct op_context *context)
{
    const struct tensor *qkv = op->forward.reads[0], *bias = op->forward.reads[1];
    struct tensor *const *writes = op->forward.writes;
    const struct model_shape *shape = op->shape;

    return LAUNCH(context->stream, qkv->dtype, split_heads_forward, shape->rows,
                  .q = writes[0]->data, .k = writes[1]->data, .v = writes[2]->data,
                  .qkv = qkv->data, .bias = bias != NULL ? bias->data : NULL, .width = shape->width,
                  .heads = shape->heads, .tokens = shape->tokens);
}

static enum status split_backward(const struct op *op, const struct op_context *context)
{
    struct tensor *const *reads = op->backward.reads;
    const struct tensor *dqkv = op->backward.writes[0], *dbias = op->backward.writes[1];
    const struct model_shape *shape = op->shape;

    TRY(LAUNCH(context->stream, dqkv->dtype, split_heads_backward, shape->rows, .dqkv = dqkv->data,
               .dq = reads[0]->data, .dk = reads[1]->data, .dv = reads[2]->data,
               .width = shape->width, .heads = shape->heads, .tokens = shape->tokens));
    if (dbias != NULL)
        TRY(column_sums(op->shape, context, dbias, dqkv, op->backward.writes[2], shape->rows,
                        3 * shape->width));

    return STATUS_OK;
}

struct op op_split_heads(const struct model_shape *shape, struct tensor *q, struct tensor *k,
                         struct tensor *v, struct tensor *qkv, struct tensor *bias,
                         struct tensor *partial)
{
    struct op op = { .shape = shape };

    op.forward = (struct pass){ split_forward, { qkv, bias }, { q, k, v }, 0, 0 };
    op.backward = (struct pass){
        split_backward, { q->gradient, k->gradient, v->gradient }, { qkv->gradient }, 0, 0
    };
    if (bias != NULL) {
        op.backward.writes[1] = bias->gradient;
        op.backward.writes[2] = partial;
    }
    return op;
}

int64_t attention_product_flops(const struct model_shape *shape)
{
    return 2 * (int64_t)shape->samples * shape->heads * shape->tokens * shape->tokens *
           shape->head_width;
}

/* All heads' products of a, [tokens, k], with b. */
static struct gemm heads_gemm(const struct op *op, const struct tensor *c, const struct tensor *a,
                              const struct tensor *b)
{
    const struct model_shape *shape = op->shape;
    struct gemm gemm = op_gemm(op, c, a, b);

    gemm.m = shape->tokens;
    gemm.batch = shape->samples * shape->heads;
    gemm.ldb = shape->head_width;
    gemm.stride_b = (int64_t)shape->tokens * shape->head_width;
    return gemm;
}

/* c [tokens, tokens] = a [tokens, head_width] b' [head_width, tokens]. */
static enum status heads_outer(const struct op *op, const struct op_context *context,
                               const struct tensor *c, const struct tensor *a,
                               const struct tensor *b)
{
    const struct model_shape *shape = op->shape;
    struct gemm gemm = heads_gemm(op, c, a, b);

    gemm.n = shape->tokens;
    gemm.k = gemm.lda = shape->head_width;
    gemm.ldc = shape->scores_width;
    gemm.stride_a = gemm.stride_b;
    gemm.stride_c = (int64_t)shape->tokens * shape->scores_width;
    gemm.transpose_b = true;
    return device_gemm(context->stream, &gemm);
}

/* c [tokens, head_width] = op(a) [tokens, tokens] b [tokens, head_width]. */
static enum status heads_inner(const struct op *op, const struct op_context *context,
                               const struct tensor *c, const struct tensor *a, bool transpose_a,
                               const struct tensor *b)
{
    const struct model_shape *shape = op->shape;
    struct gemm gemm = heads_gemm(op, c, a, b);

    gemm.n = gemm.ldc = shape->head_width;
    gemm.k = shape->tokens;
    gemm.lda = shape->scores_width;
    gemm.stride_a = (int64_t)shape->tokens * shape->scores_width;
    gemm.stride_c = gemm.stride_b;
    gemm.transpose_a = transpose_a;
    return device_gemm(context->stream, &gemm);
}

static enum status scores_forward(const struct op *op, const struct op_context *context)
{
    return heads_outer(op, context, op->forward.writes[0], op->forward.reads[0],
                       op->forward.reads[1]);
}

/* dq = dscores k; dk = dscores' q. */
static enum status scores_backward(const struct op *op, const struct op_context *context)
{
    const struct tensor *dscores = op->backward.reads[0];
    const struct tensor *q = op->backward.reads[1], *k = op->backward.reads[2];

    TRY(heads_inner(op, context, op->backward.writes[0], dscores, false, k));
    return heads_inner(op, context, op->backward.writes[1], dscores, true, q);
}

struct op op_scores(const struct model_shape *shape, struct tensor *scores, struct tensor *q,
                    struct tensor *k)
{
    struct op op = { .shape = shape };

    op.forward =
        (struct pass){ scores_forward, { q, k }, { scores }, 0, attention_product_flops(shape) };
    op.backward = (struct pass){ scores_backward,
                                 { scores->gradient, q, k },
                                 { q->gradient, k->gradient },
                                 0,
                                 2 * attention_product_flops(shape) };
    return op;
}

/* The product of two vectors grows with the root of their width; the scale takes that back, or the
 * softmax of wide heads would be all 0 and 1 (Vaswani et al., "Attention is all you need", 2017,
 * 3.2.1). */
float attention_scale(const struct model_shape *shape)
{
    return 1 / sqrtf((float)shape->head_width);
}

static enum status softmax_forward_pass(const struct op *op, const struct op_context *context)
{
    const struct tensor *scores = op->forward.writes[0];
    const struct model_shape *shape = op->shape;

    return LAUNCH(context->stream, scores->dtype, softmax_forward, (long)shape->rows * shape->heads,
                  .y = scores->data, .x = scores->data, .lengths = context->lengths,
                  .scale = attention_scale(shape), .width = shape->scores_width,
                  .heads = shape->heads, .tokens = shape->tokens);
}

static enum status softmax_backward_pass(const struct op *op, const struct op_context *context)
{
    const struct tensor *dscores = op->backward.writes[0], *scores = op->backward.reads[1];
    const struct model_shape *shape = op->shape;

    return LAUNCH(context->stream, scores->dtype, softmax_backward,
                  (long)shape->rows * shape->heads, .dx = dscores->data, .y = scores->data,
                  .dy = dscores->data, .lengths = context->lengths, .scale = attention_scale(shape),
                  .width = shape->scores_width, .heads = shape->heads, .tokens = shape->tokens);
}

/* In place: backward needs only what the softmax gave, so the scores themselves need not be
 * kept. */
struct op op_softmax(const struct model_shape *shape, struct tensor *scores)
{
    struct op op = { .shape = shape };

    op.forward = (struct pass){ softmax_forward_pass, { scores }, { scores }, 0, 0 };
    op.backward = (struct pass){
        softmax_backward_pass, { scores->gradient, scores }, { scores->gradient }, 0, 0
    };
    return op;
}

static enum status values_forward(const struct op *op, const struct op_context *context)
{
    return heads_inner(op, context, op->forward.writes[0], op->forward.reads[0], false,
                       op->forward.reads[1]);
}

/* dscores = dy v'; dv = scores' dy. */
static enum status values_backward(const struct op *op, const struct op_context *context)
{
    const struct tensor *dy = op->backward.reads[0];
    const struct tensor *scores = op->backward.reads[1], *v = op->backward.reads[2];

    TRY(heads_outer(op, context, op->backward.writes[0], dy, v));
    return heads_inner(op, context, op->backward.writes[1], scores, true, dy);
}

struct op op_weighted_values(const struct model_shape *shape, struct tensor *y,
                             struct tensor *scores, struct tensor *v)
{
    struct op op = { .shape = shape };

    op.forward =
        (struct pass){ values_forward, { scores, v }, { y }, 0, attention_product_flops(shape) };
    op.backward = (struct pass){ values_backward,
                                 { y->gradient, scores, v },
                                 { scores->gradient, v->gradient },
                                 0,
                                 2 * attention_product_flops(shape) };
    return op;
}

static enum status merge_forward(const struct op *op, const struct op_context *context)
{
    const struct model_shape *shape = op->shape;
    const struct tensor *x = op->forward.reads[0], *y = op->forward.writes[0];

    return LAUNCH(context->stream, x->dtype, merge_heads_forward, shape->rows, .y = y->data,
                  .x = x->data, .width = shape->width, .heads = shape->heads,
                  .tokens = shape->tokens);
}

static enum status merge_backward(const struct op *op, const struct op_context *context)
{
    const struct model_shape *shape = op->shape;
    const struct tensor *dy = op->backward.reads[0], *dx = op->backward.writes[0];

    return LAUNCH(context->stream, dx->dtype, merge_heads_backward, shape->rows, .dx = dx->data,
                  .dy = dy->data, .width = shape->width, .heads = shape->heads,
                  .tokens = shape->tokens);
}

struct op op_merge_heads(const struct model_shape *shape, struct tensor *y, struct tensor *x)
{
    struct op op = { .shape = shape };

    op.forward = (struct pass){ merge_forward, { x }, { y }, 0, 0 };
    op.backward = (struct pass){ merge_backward, { y->gradient }, { x->gradient }, 0, 0 };
    return op;
}
