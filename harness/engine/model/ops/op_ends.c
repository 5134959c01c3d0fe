/* The two ends of the model: from the input to the first tokens, and from the logits to the
 * loss. */
#include "harness/engine/model/ops/op_build.h"

/* Cuts the middle out of each image and into patches, and normalises their colours. */
static enum status image_patches_forward(const struct op *op, const struct op_context *context)
{
    const struct model_shape *shape = op->shape;
    const struct tensor *patches = op->forward.writes[0];
    const long rows = (long)shape->samples * (shape->tokens - 1);
    /* The corner of the middle that is cut out: in pixels, as rows are read eight at a time; then
     * in colours. */
    const size_t pixels = (size_t)(shape->stored_size - shape->image_size) / 2 / 8 * 8;
    const size_t corner = 3 * pixels * ((size_t)shape->stored_size + 1);

    if (shape->wide_pixels)
        return LAUNCH(context->stream, patches->dtype, image_patches_of_floats, rows,
                      .patches = patches->data, .images = (const float *)context->input + corner,
                      .size = shape->stored_size, .patch = shape->patch,
                      .across = shape->image_size / shape->patch, .width = shape->patch_width);
    return LAUNCH(context->stream, patches->dtype, image_patches, rows, .patches = patches->data,
                  .images = (const uint8_t *)context->input + corner, .size = shape->stored_size,
                  .patch = shape->patch, .across = shape->image_size / shape->patch,
                  .width = shape->patch_width);
}

struct op op_image_patches(const struct model_shape *shape, struct tensor *patches)
{
    struct op op = { .shape = shape };

    op.forward = (struct pass){ image_patches_forward, { NULL }, { patches }, 0, 0 };
    return op;
}

static enum status patch_forward(const struct op *op, const struct op_context *context)
{
    const struct model_shape *shape = op->shape;
    struct tensor *const *reads = op->forward.reads;

    return LAUNCH(context->stream, reads[0]->dtype, patch_embedding_forward, shape->rows,
                  .y = op->forward.writes[0]->data, .x = reads[0]->data, .bias = reads[1]->data,
                  .positions = reads[2]->data, .width = shape->width, .tokens = shape->tokens);
}

/* Positions that no sample reaches have no gradient. */
static enum status positions_gradient(const struct op *op, const struct op_context *context,
                                      const struct tensor *dpositions, const struct tensor *dy)
{
    const struct model_shape *shape = op->shape;
    long elements = (long)shape->tokens * shape->width;
    size_t bytes = (size_t)elements * dtype_bytes(dpositions->dtype);

    TRY(LAUNCH(context->stream, dy->dtype, positions_backward, elements,
               .dpositions = dpositions->data, .dy = dy->data, .elements = elements,
               .samples = shape->samples, .accumulate = context->accumulate));
    if (elements < dpositions->elements && !context->accumulate)
        /* A step of shorter samples has the parameters of the longest. */
        TRY(device_memset(context->stream, (char *)dpositions->data + bytes, 0,
                          tensor_bytes(dpositions) - bytes));

    return STATUS_OK;
}

/* The class token has no patch, so its row takes part in the positions' gradient alone. */
static enum status patch_backward(const struct op *op, const struct op_context *context)
{
    const struct model_shape *shape = op->shape;
    const struct tensor *dy = op->backward.reads[0], *dx = op->backward.writes[0];
    int patches = shape->samples * (shape->tokens - 1);

    TRY(positions_gradient(op, context, op->backward.writes[2], dy));
    TRY(LAUNCH(context->stream, dy->dtype, patch_embedding_backward, patches, .dx = dx->data,
               .dy = dy->data, .width = shape->width, .tokens = shape->tokens));
    return column_sums(shape, context, op->backward.writes[1], dx, op->backward.writes[3], patches,
                       shape->width);
}

struct op op_patch_embedding(const struct model_shape *shape, struct tensor *y, struct tensor *x,
                             struct tensor *bias, struct tensor *positions, struct tensor *partial)
{
    struct op op = { .shape = shape };

    op.forward = (struct pass){ patch_forward, { x, bias, positions }, { y }, 0, 0 };
    op.backward = (struct pass){ patch_backward,
                                 { y->gradient },
                                 { x->gradient, bias->gradient, positions->gradient, partial },
                                 0,
                                 0 };
    return op;
}

static enum status token_forward(const struct op *op, const struct op_context *context)
{
    const struct model_shape *shape = op->shape;
    struct tensor *const *reads = op->forward.reads;

    return LAUNCH(context->stream, reads[0]->dtype, token_embedding_forward, shape->rows,
                  .y = op->forward.writes[0]->data, .ids = context->input, .table = reads[0]->data,
                  .positions = reads[1]->data, .width = shape->width, .tokens = shape->tokens);
}

static enum status token_backward(const struct op *op, const struct op_context *context)
{
    const struct model_shape *shape = op->shape;
    const struct tensor *dy = op->backward.reads[0];

    TRY(positions_gradient(op, context, op->backward.writes[1], dy));
    return LAUNCH(context->stream, dy->dtype, token_embedding_backward, shape->vocabulary,
                  .dtable = op->backward.writes[0]->data, .dy = dy->data, .ids = context->input,
                  .width = shape->width, .count = shape->rows, .accumulate = context->accumulate);
}

struct op op_token_embedding(const struct model_shape *shape, struct tensor *y,
                             struct tensor *table, struct tensor *positions)
{
    struct op op = { .shape = shape };

    op.forward = (struct pass){ token_forward, { table, positions }, { y }, 0, 0 };
    op.backward = (struct pass){
        token_backward, { y->gradient }, { table->gradient, positions->gradient }, 0, 0
    };
    return op;
}

/* How many samples backward takes: behind the numbers of all. */
static int32_t *kept_of(const struct tensor *rows)
{
    return (int32_t *)rows->data + rows->elements - ROW_MULTIPLE;
}

/* Reading their number waits for all of forward. */
static enum status select_samples(const struct op *op, const struct op_context *context)
{
    const struct tensor *losses = op->forward.writes[0], *rows = op->forward.writes[1];
    const int samples = op->shape->samples;

    if (rows == NULL)
        return STATUS_OK;
    TRY(LAUNCH(context->stream, DTYPE_F32, hard_rows, samples, .rows = rows->data,
               .kept = kept_of(rows), .loss = losses->data, .count = samples,
               .width = ROW_MULTIPLE));
    if (op->host != NULL)
        TRY(device_copy(context->stream, COPY_DEVICE_TO_HOST, op->host, kept_of(rows),
                        sizeof(int32_t)));

    return STATUS_OK;
}

/* The mean goes to the ring of losses, where the host may read it later. */
static enum status loss_forward(const struct op *op, const struct op_context *context)
{
    const struct model_shape *shape = op->shape;
    const struct tensor *logits = op->forward.reads[0], *losses = op->forward.writes[0];

    TRY(LAUNCH(context->stream, logits->dtype, cross_entropy_forward, shape->samples,
               .loss = losses->data, .logits = logits->data, .labels = context->labels,
               .width = shape->classes_width, .classes = shape->classes));
    TRY(LAUNCH(context->stream, DTYPE_F32, loss_mean, 1, .ring = context->loss_ring,
               .loss = losses->data, .state = context->state, .scale = context->loss_scale,
               .count = shape->samples, .ring_length = LOSS_RING, .accumulate = context->later,
               .updates = context->updates, .width = ROW_MULTIPLE));
    return select_samples(op, context);
}

/* Samples that were not selected keep a gradient of 0. */
static enum status loss_backward(const struct op *op, const struct op_context *context)
{
    const struct model_shape *shape = op->shape;
    const struct tensor *logits = op->backward.reads[0], *rows = op->backward.reads[1];
    const struct tensor *dlogits = op->backward.writes[0];
    int samples = op->host != NULL ? *(const int32_t *)op->host : shape->samples;

    if (rows != NULL)
        TRY(device_memset(context->stream, dlogits->data, 0, tensor_bytes(dlogits)));
    if (samples == 0) /* equal losses may all be below their rounded mean */
        return STATUS_OK;
    return LAUNCH(context->stream, logits->dtype, cross_entropy_backward, samples,
                  .dlogits = dlogits->data, .logits = logits->data, .labels = context->labels,
                  .rows = rows != NULL ? rows->data : NULL, .state = context->state,
                  .scale = context->gradient_scale, .width = shape->classes_width,
                  .classes = shape->classes);
}

struct op op_loss(const struct model_shape *shape, struct tensor *losses, struct tensor *logits,
                  struct tensor *rows, void *kept)
{
    struct op op = { .shape = shape, .host = kept };

    op.forward = (struct pass){ loss_forward, { logits }, { losses, rows }, 0, 0 };
    op.backward = (struct pass){ loss_backward, { logits, rows }, { logits->gradient }, 0, 0 };
    return op;
}

static enum status accuracy_forward(const struct op *op, const struct op_context *context)
{
    const struct model_shape *shape = op->shape;
    const struct tensor *logits = op->forward.reads[0];

    return LAUNCH(context->stream, logits->dtype, count_right, shape->samples,
                  .right = op->forward.writes[0]->data, .logits = logits->data,
                  .labels = context->labels, .width = shape->classes_width,
                  .classes = shape->classes);
}

struct op op_accuracy(const struct model_shape *shape, struct tensor *right, struct tensor *logits)
{
    struct op op = { .shape = shape };

    op.forward = (struct pass){ accuracy_forward, { logits, right }, { right }, 0, 0 };
    return op;
}
