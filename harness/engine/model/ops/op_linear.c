/* Linear layers: three products, and the bias with its column sums. */
#include "harness/engine/model/ops/column_sums.h"

static enum status linear_forward(const struct op *op, const struct op_context *context)
{
    const struct tensor *x = op->forward.reads[0], *weight = op->forward.reads[1];
    const struct tensor *y = op->forward.writes[0];

    return device_gemm(context->stream, &(struct gemm){ .c = y->data,
                                                        .a = x->data,
                                                        .b = weight->data,
                                                        .m = op->rows,
                                                        .n = op->out,
                                                        .k = op->in,
                                                        .batch = 1,
                                                        .lda = op->x_row,
                                                        .ldb = op->out,
                                                        .ldc = op->out,
                                                        .dtype_ab = x->dtype,
                                                        .dtype_c = y->dtype,
                                                        .math = op->shape->math });
}

/* dweight = x' dy */
static enum status weight_gradient(const struct op *op, const struct op_context *context,
                                   struct stream *stream)
{
    const struct tensor *dy = op->backward.reads[0], *x = op->backward.reads[1];
    const struct tensor *dweight = op->backward.writes[0];

    return device_gemm(stream, &(struct gemm){ .c = dweight->data,
                                               .a = x->data,
                                               .b = dy->data,
                                               .m = op->in,
                                               .n = op->out,
                                               .k = op->rows,
                                               .batch = 1,
                                               .lda = op->x_row,
                                               .ldb = op->out,
                                               .ldc = op->out,
                                               .transpose_a = true,
                                               .accumulate = context->accumulate,
                                               .dtype_ab = x->dtype,
                                               .dtype_c = dweight->dtype,
                                               .math = op->shape->math });
}

/* dx = dy weight'. Where rows of x are apart, dx is zero between them. */
static enum status input_gradient(const struct op *op, const struct op_context *context)
{
    const struct tensor *dy = op->backward.reads[0], *weight = op->backward.reads[2];
    const struct tensor *dx = op->backward.writes[1];

    if (op->x_row != op->in)
        TRY(device_memset(context->stream, dx->data, 0, tensor_bytes(dx)));

    return device_gemm(context->stream, &(struct gemm){ .c = dx->data,
                                                        .a = dy->data,
                                                        .b = weight->data,
                                                        .m = op->rows,
                                                        .n = op->in,
                                                        .k = op->out,
                                                        .batch = 1,
                                                        .lda = op->out,
                                                        .ldb = op->out,
                                                        .ldc = op->x_row,
                                                        .transpose_b = true,
                                                        .dtype_ab = dy->dtype,
                                                        .dtype_c = dx->dtype,
                                                        .math = op->shape->math });
}

/* Both products need dy, and neither needs the other. They are joined before the pass ends, as its
 * tensors may be freed then. */
static enum status linear_backward(const struct op *op, const struct op_context *context)
{
    const struct side_stream *side = context->side;

    if (op->backward.writes[1] == NULL)
        return weight_gradient(op, context, context->stream);
    if (side == NULL) {
        TRY(weight_gradient(op, context, context->stream));
        return input_gradient(op, context);
    }
    TRY(event_record(side->forked, context->stream));
    TRY(stream_wait_event(side->stream, side->forked));
    TRY(weight_gradient(op, context, side->stream));
    TRY(event_record(side->joined, side->stream));
    TRY(input_gradient(op, context));
    TRY(stream_wait_event(context->stream, side->joined));

    return STATUS_OK;
}

struct op op_linear(const struct model_shape *shape, struct tensor *y, struct tensor *x,
                    struct tensor *weight, int rows, int in, int out, int x_row)
{
    struct op op = { .shape = shape, .rows = rows, .in = in, .out = out, .x_row = x_row };

    op.forward = (struct pass){ linear_forward, { x, weight }, { y }, 0, 0 };
    op.backward = (struct pass){
        linear_backward, { y->gradient, x, weight }, { weight->gradient, x->gradient }, 0, 0
    };
    op.forward.flops = 2 * (int64_t)rows * in * out;
    op.backward.flops = op.forward.flops * (x->gradient != NULL ? 2 : 1);
    return op;
}

static enum status bias_forward(const struct op *op, const struct op_context *context)
{
    const struct tensor *x = op->forward.writes[0], *bias = op->forward.reads[1];

    return LAUNCH(context->stream, x->dtype, bias_add, op->rows, .y = x->data, .x = x->data,
                  .bias = bias->data, .width = op->in);
}

static enum status bias_backward_pass(const struct op *op, const struct op_context *context)
{
    return column_sums(op->shape, context, op->backward.writes[0], op->backward.reads[0],
                       op->backward.writes[1], op->rows, op->in);
}

struct op op_bias(const struct model_shape *shape, struct tensor *x, struct tensor *bias,
                  struct tensor *partial, int rows, int width)
{
    struct op op = { .shape = shape, .rows = rows, .in = width };

    op.forward = (struct pass){ bias_forward, { x, bias }, { x }, 0, 0 };
    op.backward =
        (struct pass){ bias_backward_pass, { x->gradient }, { bias->gradient, partial }, 0, 0 };
    return op;
}
