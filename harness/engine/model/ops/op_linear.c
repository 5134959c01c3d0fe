/* Linear layers: three products, the bias with its column sums, and casts to fp64 and back. */
#include "harness/base/words/notice.h"
#include "harness/engine/model/ops/op_build.h"

/* --- Column sums --- */

void column_sums_choose(struct model_shape *shape, const struct device_properties *device)
{
    enum { LANES = 32, LOAD_BYTES = 16 };

    shape->column_chunk = device->is_gpu ? 32 : 64;
    /* A warp reads a row at once: each lane the 16 bytes that are the largest load of a thread. */
    shape->column_bytes = device->is_gpu ? LANES * LOAD_BYTES : 0;
}

struct column_grid column_grid(const struct model_shape *shape, enum dtype dtype, int rows,
                               int width)
{
    int columns = shape->column_bytes > 0 ? shape->column_bytes / (int)dtype_bytes(dtype) : width;
    struct column_grid grid = { .chunk = shape->column_chunk, .columns = columns };

    grid.parts = (rows + grid.chunk - 1) / grid.chunk;
    grid.count = (long)grid.parts * ((width + columns - 1) / columns);
    return grid;
}

/* In two kernels: the sums of each chunk of rows, then the sums of those. One kernel over all rows
 * would leave most of a GPU idle, as there are few columns. */
enum status column_sums(const struct model_shape *shape, const struct op_context *context,
                        const struct tensor *dbias, const struct tensor *dy,
                        const struct tensor *partial, int rows, int width)
{
    struct column_grid grid = column_grid(shape, dy->dtype, rows, width);

    TRY(LAUNCH(context->stream, dy->dtype, bias_backward, grid.count, .dbias = partial->data,
               .dy = dy->data, .width = width, .rows = rows, .chunk = grid.chunk,
               .columns = grid.columns));
    return LAUNCH(context->stream, dbias->dtype, columns_finish, width, .y = dbias->data,
                  .partial = partial->data, .width = width, .parts = grid.parts,
                  .accumulate = context->accumulate);
}

/* --- Products --- */

struct gemm op_gemm(const struct op *op, const struct tensor *c, const struct tensor *a,
                    const struct tensor *b)
{
    return (struct gemm){ .c = c->data,
                          .a = a->data,
                          .b = b->data,
                          .batch = 1,
                          .dtype_ab = a->dtype,
                          .dtype_c = c->dtype,
                          .math = op->shape->math };
}

/* The kernels that make up the epilogue, behind its product. */
static enum status run_epilogue(const struct op *op, const struct op_context *context,
                                const struct gemm *gemm)
{
    struct stream *stream = context->stream;
    const long elements = (long)gemm->m * gemm->n;
    void *sum = gemm->epilogue == EPILOGUE_BIAS ? gemm->c : gemm->aux;

    if (gemm->epilogue == EPILOGUE_BGRAD)
        return column_sums(op->shape, context, op->backward.writes[2], op->backward.reads[0],
                           op->backward.writes[3], op->rows, op->out);
    if (gemm->epilogue == EPILOGUE_DGELU)
        return LAUNCH(stream, gemm->dtype_c, gelu_backward, elements, .dx = gemm->c, .dy = gemm->c,
                      .x = gemm->aux);
    TRY(LAUNCH(stream, gemm->dtype_c, bias_add, gemm->m, .y = sum, .x = sum, .bias = gemm->bias,
               .width = gemm->n));
    if (gemm->epilogue == EPILOGUE_GELU_AUX_BIAS)
        TRY(LAUNCH(stream, gemm->dtype_c, gelu_forward, elements, .y = gemm->c, .x = sum));

    return STATUS_OK;
}

/* In one kernel where the device's library has it, else the product and the epilogue's kernels. */
static enum status multiply(const struct op *op, const struct op_context *context,
                            const struct gemm *gemm)
{
    const struct device *device = stream_device(context->stream);
    struct gemm alone = *gemm;
    enum status status;

    if (gemm->epilogue == EPILOGUE_NONE)
        return device_gemm(context->stream, gemm);
    if (device_properties(device)->gemm_epilogues) {
        status = device_gemm(context->stream, gemm);
        if (status != STATUS_UNSUPPORTED && status != STATUS_NO_LIBRARY)
            return status;
        notice_once("elementwise=epilogue runs kernels of its own: %s", status_last()->text);
    }
    alone.epilogue = EPILOGUE_NONE;
    if (gemm->epilogue == EPILOGUE_GELU_AUX_BIAS)
        alone.c = gemm->aux;
    TRY(device_gemm(context->stream, &alone));
    return run_epilogue(op, context, gemm);
}

static void *data_of(const struct tensor *tensor)
{
    return tensor != NULL ? tensor->data : NULL;
}

static enum status linear_forward(const struct op *op, const struct op_context *context)
{
    const struct tensor *x = op->forward.reads[0], *weight = op->forward.reads[1];
    struct gemm gemm = op_gemm(op, op->forward.writes[0], x, weight);

    gemm.m = op->rows;
    gemm.k = op->in;
    gemm.n = gemm.ldb = gemm.ldc = op->out;
    gemm.lda = op->x_row;
    gemm.bias = data_of(op->forward.reads[2]);
    gemm.aux = data_of(op->forward.writes[1]);
    if (gemm.bias != NULL)
        gemm.epilogue = gemm.aux != NULL ? EPILOGUE_GELU_AUX_BIAS : EPILOGUE_BIAS;
    return multiply(op, context, &gemm);
}

/* Only a parameter's gradient outlives the micro-batch. */
static bool adds_up(const struct tensor *gradient, const struct op_context *context)
{
    return context->accumulate && gradient->persistent;
}

/* dweight = x' dy, and dbias, the column sums of dy. No epilogue adds to what there is. */
static enum status weight_gradient(const struct op *op, const struct op_context *context)
{
    const struct tensor *dy = op->backward.reads[0], *x = op->backward.reads[1];
    const struct tensor *dbias = op->backward.writes[2];
    struct gemm gemm = op_gemm(op, op->backward.writes[0], x, dy);

    gemm.m = op->in;
    gemm.k = op->rows;
    gemm.n = gemm.ldb = gemm.ldc = op->out;
    gemm.lda = op->x_row;
    gemm.transpose_a = true;
    gemm.accumulate = adds_up(op->backward.writes[0], context);
    if (dbias != NULL && gemm.accumulate) {
        TRY(column_sums(op->shape, context, dbias, dy, op->backward.writes[3], op->rows, op->out));
    } else if (dbias != NULL) {
        gemm.epilogue = EPILOGUE_BGRAD;
        gemm.bias = dbias->data;
    }
    return multiply(op, context, &gemm);
}

/* dx = dy weight', times gelu'(aux) where x is gelu(aux). Where rows of x are apart, dx is zero
 * between them. */
static enum status input_gradient(const struct op *op, const struct op_context *context)
{
    const struct tensor *dy = op->backward.reads[0], *weight = op->backward.reads[2];
    const struct tensor *dx = op->backward.writes[1];
    struct gemm gemm = op_gemm(op, dx, dy, weight);

    if (op->x_row != op->in)
        TRY(device_memset(context->stream, dx->data, 0, tensor_bytes(dx)));
    gemm.m = op->rows;
    gemm.n = op->in;
    gemm.k = gemm.lda = gemm.ldb = op->out;
    gemm.ldc = op->x_row;
    gemm.transpose_b = true;
    gemm.aux = data_of(op->backward.reads[3]);
    if (gemm.aux != NULL)
        gemm.epilogue = EPILOGUE_DGELU;
    return multiply(op, context, &gemm);
}

/* Both products need dy, and neither needs the other. They are joined before the pass ends, as its
 * tensors may be freed then. */
static enum status linear_backward(const struct op *op, const struct op_context *context)
{
    const struct side_stream *side = context->side;
    struct op_context beside = *context;

    if (op->backward.writes[1] == NULL)
        return weight_gradient(op, context);
    if (side == NULL) {
        TRY(weight_gradient(op, context));
        return input_gradient(op, context);
    }
    beside.stream = side->stream;
    TRY(event_record(side->forked, context->stream));
    TRY(stream_wait_event(side->stream, side->forked));
    TRY(weight_gradient(op, &beside));
    TRY(event_record(side->joined, side->stream));
    TRY(input_gradient(op, context));
    return stream_wait_event(context->stream, side->joined);
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

void op_linear_bias(struct op *op, struct tensor *bias, struct tensor *partial)
{
    op->forward.reads[2] = bias;
    op->backward.writes[2] = bias->gradient;
    op->backward.writes[3] = partial;
}

void op_linear_gelu(struct op *before, struct tensor *gelu, struct op *after)
{
    struct tensor *aux = before->forward.writes[0];

    before->forward.writes[0] = gelu;
    before->forward.writes[1] = aux;
    after->backward.reads[3] = aux;
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

/* --- Casts to fp64 and back --- */

static enum status widen(const struct op_context *context, const struct tensor *wide,
                         const struct tensor *stored)
{
    return LAUNCH(context->stream, stored->dtype, cast_to_double, (long)stored->elements,
                  .y = wide->data, .x = stored->data);
}

static enum status narrow(const struct op_context *context, const struct tensor *stored,
                          const struct tensor *wide, bool accumulate)
{
    return LAUNCH(context->stream, stored->dtype, cast_from_double, (long)stored->elements,
                  .y = stored->data, .x = wide->data, .accumulate = accumulate);
}

static enum status widen_forward(const struct op *op, const struct op_context *context)
{
    return widen(context, op->forward.writes[0], op->forward.reads[0]);
}

static enum status widen_backward(const struct op *op, const struct op_context *context)
{
    const struct tensor *dx = op->backward.writes[0];

    return narrow(context, dx, op->backward.reads[0], adds_up(dx, context));
}

static enum status narrow_forward(const struct op *op, const struct op_context *context)
{
    return narrow(context, op->forward.writes[0], op->forward.reads[0], false);
}

static enum status narrow_backward(const struct op *op, const struct op_context *context)
{
    return widen(context, op->backward.writes[0], op->backward.reads[0]);
}

struct op op_cast(const struct model_shape *shape, struct tensor *y, struct tensor *x)
{
    const bool widens = y->dtype == DTYPE_F64;
    struct op op = { .shape = shape, .rows = 1, .in = (int)x->elements };

    op.forward = (struct pass){ widens ? widen_forward : narrow_forward, { x }, { y }, 0, 0 };
    if (x->gradient != NULL)
        op.backward = (struct pass){
            widens ? widen_backward : narrow_backward, { y->gradient }, { x->gradient }, 0, 0
        };
    return op;
}
