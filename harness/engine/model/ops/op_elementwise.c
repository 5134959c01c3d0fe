/* GELU, layer normalisation and residual connections, single and fused.
 *
 * The gradient of the residual stream is one tensor: a residual connection's backward has nothing
 * to compute, and a normalisation's adds to it. */
#include "harness/engine/model/ops/op_build.h"

#include "kernels/dialect/half.h"

#include <math.h>
#include <string.h>

static enum status gelu_forward_pass(const struct op *op, const struct op_context *context)
{
    const struct tensor *x = op->forward.reads[0], *bias = op->forward.reads[1];
    const struct tensor *y = op->forward.writes[0];

    if (bias == NULL)
        return LAUNCH(context->stream, x->dtype, gelu_forward, (long)x->elements, .y = y->data,
                      .x = x->data);
    return LAUNCH(context->stream, x->dtype, bias_gelu_forward, op->rows, .y = y->data,
                  .x = x->data, .bias = bias->data, .width = op->in);
}

/* In place: dx is dy. */
static enum status gelu_backward_pass(const struct op *op, const struct op_context *context)
{
    const struct tensor *dy = op->backward.reads[0], *x = op->backward.reads[1];
    const struct tensor *bias = op->backward.reads[2];

    if (bias == NULL) {
        TRY(LAUNCH(context->stream, x->dtype, gelu_backward, (long)x->elements, .dx = dy->data,
                   .dy = dy->data, .x = x->data));
        return STATUS_OK;
    }
    TRY(LAUNCH(context->stream, x->dtype, bias_gelu_backward, op->rows, .dx = dy->data,
               .dy = dy->data, .x = x->data, .bias = bias->data, .width = op->in));
    return column_sums(op->shape, context, op->backward.writes[1], dy, op->backward.writes[2],
                       op->rows, op->in);
}

/* As kernels/model/gelu.kernel.c has it. */
static float gelu(float x)
{
    float exponent = -2 * 0.797884561f * x * (1 + 0.044715f * x * x);

    return x / (1 + expf(exponent < 85 ? exponent : 85));
}

/* GELU's forward on the host: its input is copied there and its result back, in the middle of the
 * step. The host waits for all work before, and the device for the host. One buffer serves all
 * blocks: a copy into it is queued behind the copy out of it. */
static enum status host_gelu_pass(const struct op *op, const struct op_context *context)
{
    const struct tensor *x = op->forward.reads[0], *y = op->forward.writes[0];

    TRY(device_copy(context->stream, COPY_DEVICE_TO_HOST, op->host, x->data, tensor_bytes(x)));
    for (int64_t i = 0; i < x->elements; i++) {
        uint16_t *narrow = (uint16_t *)op->host + i;
        if (x->dtype == DTYPE_F32)
            ((float *)op->host)[i] = gelu(((float *)op->host)[i]);
        else if (x->dtype == DTYPE_F16)
            *narrow = half_narrow(gelu(half_widen(*narrow)));
        else {
            /* A bf16 number is the upper half of an fp32 one; it is rounded to the nearest, ties to
             * even. */
            uint32_t bits = (uint32_t)*narrow << 16;
            float value;

            memcpy(&value, &bits, sizeof value);
            value = gelu(value);
            memcpy(&bits, &value, sizeof bits);
            *narrow = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        }
    }
    return device_copy_async(context->stream, COPY_HOST_TO_DEVICE, y->data, op->host,
                             tensor_bytes(y));
}

struct op op_gelu(const struct model_shape *shape, struct tensor *y, struct tensor *x,
                  struct tensor *bias, struct tensor *partial, void *host)
{
    struct op op = { .shape = shape, .rows = shape->rows, .in = shape->hidden, .host = host };

    op.forward = (struct pass){
        host != NULL ? host_gelu_pass : gelu_forward_pass, { x, bias }, { y }, 0, 0
    };
    op.backward =
        (struct pass){ gelu_backward_pass, { y->gradient, x, bias }, { x->gradient }, 0, 0 };
    if (bias != NULL) {
        op.backward.writes[1] = bias->gradient;
        op.backward.writes[2] = partial;
    }
    return op;
}

static enum status layernorm_forward_pass(const struct op *op, const struct op_context *context)
{
    struct tensor *const *reads = op->forward.reads, *const *writes = op->forward.writes;

    return LAUNCH(context->stream, reads[0]->dtype, layernorm_forward, op->rows,
                  .y = writes[0]->data, .mean = writes[1]->data, .rstd = writes[2]->data,
                  .x = reads[0]->data, .weight = reads[1]->data, .bias = reads[2]->data,
                  .width = op->in);
}

static enum status residual_layernorm_pass(const struct op *op, const struct op_context *context)
{
    struct tensor *const *reads = op->forward.reads, *const *writes = op->forward.writes;

    return LAUNCH(context->stream, reads[0]->dtype, residual_layernorm_forward, op->rows,
                  .sum = writes[3]->data, .y = writes[0]->data, .mean = writes[1]->data,
                  .rstd = writes[2]->data, .a = reads[0]->data, .b = reads[3]->data,
                  .branch_bias = reads[4] != NULL ? reads[4]->data : NULL, .weight = reads[1]->data,
                  .bias = reads[2]->data, .width = op->in);
}

/* dweight and dbias of the normalisation. `partial` holds both halves of the partial sums. */
static enum status norm_parameter_gradients(const struct op *op, const struct op_context *context)
{
    const struct tensor *dy = op->backward.reads[0], *x = op->backward.reads[1];
    const struct tensor *mean = op->backward.reads[3], *rstd = op->backward.reads[4];
    const struct tensor *dweight = op->backward.writes[1], *dbias = op->backward.writes[2];
    struct column_grid grid = column_grid(op->shape, x->dtype, op->rows, op->in);
    float *dweights = op->backward.writes[3]->data;
    float *dbiases = dweights + (long)grid.parts * op->in;

    TRY(LAUNCH(context->stream, x->dtype, layernorm_backward_weight, grid.count,
               .dweight = dweights, .dbias = dbiases, .x = x->data, .dy = dy->data,
               .mean = mean->data, .rstd = rstd->data, .width = op->in, .rows = op->rows,
               .chunk = grid.chunk, .columns = grid.columns));
    TRY(LAUNCH(context->stream, dweight->dtype, columns_finish, op->in, .y = dweight->data,
               .partial = dweights, .width = op->in, .parts = grid.parts,
               .accumulate = context->accumulate));
    TRY(LAUNCH(context->stream, dbias->dtype, columns_finish, op->in, .y = dbias->data,
               .partial = dbiases, .width = op->in, .parts = grid.parts,
               .accumulate = context->accumulate));
    /* column_sums() may overwrite this workspace later in the pass, so its checksum is taken
     * now. */
    return tensor_sums_add(context->sums, op->name, true, op->backward.writes[3]);
}

/* Fused, one kernel adds to the residual stream's gradient; unfused, the result goes to scratch
 * and is added by another. */
static enum status norm_backward_pass(const struct op *op, const struct op_context *context)
{
    const struct tensor *dy = op->backward.reads[0], *x = op->backward.reads[1];
    const struct tensor *weight = op->backward.reads[2];
    const struct tensor *mean = op->backward.reads[3], *rstd = op->backward.reads[4];
    const struct tensor *add = op->backward.reads[5], *dx = op->backward.writes[0];
    const struct tensor *scratch = op->backward.writes[4];
    const struct tensor *dbranch_bias = op->backward.writes[5];

    TRY(norm_parameter_gradients(op, context));
    if (add != NULL && scratch == NULL)
        TRY(LAUNCH(context->stream, x->dtype, residual_layernorm_backward, op->rows, .dx = dx->data,
                   .x = x->data, .dy = dy->data, .add = add->data, .weight = weight->data,
                   .mean = mean->data, .rstd = rstd->data, .width = op->in));
    else
        TRY(LAUNCH(context->stream, x->dtype, layernorm_backward, op->rows,
                   .dx = scratch != NULL ? scratch->data : dx->data, .x = x->data, .dy = dy->data,
                   .weight = weight->data, .mean = mean->data, .rstd = rstd->data,
                   .width = op->in));
    if (scratch != NULL)
        TRY(LAUNCH(context->stream, x->dtype, residual_add, (long)dx->elements, .y = dx->data,
                   .a = dx->data, .b = scratch->data));
    if (dbranch_bias != NULL)
        TRY(column_sums(op->shape, context, dbranch_bias, dx, op->backward.writes[3], op->rows,
                        op->in));

    return STATUS_OK;
}

struct op op_layernorm(const struct model_shape *shape, const struct norm_tensors *norm,
                       struct tensor *x, bool first)
{
    struct op op = { .shape = shape, .rows = shape->rows, .in = shape->width };

    op.forward = (struct pass){ layernorm_forward_pass,
                                { x, norm->weight, norm->bias },
                                { norm->y, norm->mean, norm->rstd },
                                0,
                                0 };
    op.backward = (struct pass){ norm_backward_pass,
                                 { norm->y->gradient, x, norm->weight, norm->mean, norm->rstd,
                                   first ? NULL : x->gradient },
                                 { x->gradient, norm->weight->gradient, norm->bias->gradient,
                                   norm->partial, first ? NULL : norm->scratch },
                                 0,
                                 0 };
    return op;
}

struct op op_residual_layernorm(const struct model_shape *shape, const struct norm_tensors *norm,
                                struct tensor *sum, struct tensor *x, struct tensor *branch,
                                struct tensor *branch_bias)
{
    struct op op = op_layernorm(shape, norm, sum, false);

    op.forward = (struct pass){ residual_layernorm_pass,
                                { x, norm->weight, norm->bias, branch, branch_bias },
                                { norm->y, norm->mean, norm->rstd, sum },
                                0,
                                0 };
    op.backward.writes[4] = NULL;
    op.backward.writes[5] = branch_bias != NULL ? branch_bias->gradient : NULL;
    return op;
}

static enum status residual_forward_pass(const struct op *op, const struct op_context *context)
{
    const struct tensor *x = op->forward.reads[0], *branch = op->forward.reads[1];
    const struct tensor *bias = op->forward.reads[2], *sum = op->forward.writes[0];

    if (bias == NULL)
        return LAUNCH(context->stream, x->dtype, residual_add, (long)x->elements, .y = sum->data,
                      .a = x->data, .b = branch->data);
    return LAUNCH(context->stream, x->dtype, bias_residual, op->rows, .y = sum->data, .a = x->data,
                  .b = branch->data, .bias = bias->data, .width = op->in);
}

static enum status residual_backward_pass(const struct op *op, const struct op_context *context)
{
    return column_sums(op->shape, context, op->backward.writes[0], op->backward.reads[0],
                       op->backward.writes[1], op->rows, op->in);
}

struct op op_residual(const struct model_shape *shape, struct tensor *sum, struct tensor *x,
                      struct tensor *branch, struct tensor *branch_bias, struct tensor *partial)
{
    struct op op = { .shape = shape, .rows = shape->rows, .in = shape->width };

    op.forward = (struct pass){ residual_forward_pass, { x, branch, branch_bias }, { sum }, 0, 0 };
    if (branch_bias != NULL)
        op.backward = (struct pass){
            residual_backward_pass, { sum->gradient }, { branch_bias->gradient, partial }, 0, 0
        };
    return op;
}
