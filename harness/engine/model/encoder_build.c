/* Builds what an encoder computes from the settings: its tensors, its ops block by block, and the
 * programs that run them. Tensors have no memory yet. */
#include "harness/engine/model/encoder.h"

#include "harness/base/rows.h"
#include "harness/base/words/notice.h"
#include "harness/engine/model/ops/op_build.h"

#include <math.h>
#include <stdio.h>

/* The most that a model has: the arrays are made before the first op is added, so that pointers
 * into them stay. */
enum { OPS_OUTSIDE = 18, OPS_A_BLOCK = 32 };

/* In a block, and in it for each rank's experts. */
enum { TENSORS_OUTSIDE = 52, TENSORS_A_BLOCK = 94, TENSORS_A_PART = 8 };

struct builder {
    struct encoder *encoder;
    struct initial *initials; /* of each parameter */
    struct tensor *stream;    /* the residual stream's gradient */
    struct tensor *partial, *scratch;
    struct tensor *attention_scratch; /* NULL: attention is naive */
    int64_t scratch_floats;
    bool library_attention;
    const struct model_config *model;
    int block;
    bool fused;
    bool epilogue; /* biases and GELU are left to products */
};

static int round_up(int value)
{
    return (value + ROW_MULTIPLE - 1) / ROW_MULTIPLE * ROW_MULTIPLE;
}

struct model_shape encoder_shape(const struct training_config *config, int classes)
{
    const struct model_config *model = &config->model;
    bool images = config->data.kind == DATA_IMAGES;
    int samples = model->batch / config->launch.accumulate;

    return (struct model_shape){
        .samples = samples,
        .tokens = model->tokens,
        .width = model->width,
        .blocks = model->blocks,
        .heads = model->width / model->head_width,
        .head_width = model->head_width,
        .rows = samples * model->tokens,
        .scores_width = round_up(model->tokens),
        .classes = classes,
        .classes_width = round_up(classes),
        .hidden = 4 * model->width,
        .patch = images ? model->patch : 0,
        .image_size = images ? config->data.image_size / model->crop : 0,
        .stored_size = images ? config->data.image_size : 0,
        .wide_pixels = config->loader.batching.wide_pixels,
        .patch_width = images ? 3 * model->patch * model->patch : 0,
        .vocabulary = images ? 0 : config->data.vocabulary,
        .strided_heads = model->strided_heads,
        .dtype = model->precision == PRECISION_BF16   ? DTYPE_BF16
                 : model->precision == PRECISION_FP16 ? DTYPE_F16
                                                      : DTYPE_F32,
        .math = model->precision == PRECISION_TF32 ? MATH_TF32 : MATH_STRICT,
    };
}

/* "block3.qkv", or the name alone outside the blocks. */
static void name_in_block(const struct builder *builder, char *to, size_t size, const char *name)
{
    if (builder->block >= 0)
        snprintf(to, size, "block%d.%s", builder->block, name);
    else
        snprintf(to, size, "%s", name);
}

static struct tensor *add_tensor(struct builder *builder, const char *name, enum dtype dtype,
                                 enum allocator_category category, int64_t elements)
{
    struct encoder *encoder = builder->encoder;
    struct tensor *tensor = &encoder->tensors[encoder->tensor_count++];

    name_in_block(builder, tensor->name, sizeof tensor->name, name);
    tensor->dtype = dtype;
    tensor->category = category;
    tensor->elements = tensor->width = elements;
    return tensor;
}

static struct tensor *add_matrix(struct builder *builder, const char *name,
                                 enum allocator_category category, int64_t rows, int64_t width)
{
    struct tensor *tensor =
        add_tensor(builder, name, builder->encoder->shape.dtype, category, rows * width);

    tensor->width = width;
    return tensor;
}

/* An activation with a gradient of its own. */
static struct tensor *activation(struct builder *builder, const char *name, int64_t rows,
                                 int64_t width)
{
    struct tensor *tensor = add_matrix(builder, name, MEMORY_ACTIVATIONS, rows, width);

    tensor->gradient = add_matrix(builder, name, MEMORY_ACTIVATION_GRADIENTS, rows, width);
    return tensor;
}

/* An activation whose gradient is another tensor. */
static struct tensor *activation_sharing(struct builder *builder, const char *name, int64_t rows,
                                         int64_t width, struct tensor *gradient)
{
    struct tensor *tensor = add_matrix(builder, name, MEMORY_ACTIVATIONS, rows, width);

    tensor->gradient = gradient;
    return tensor;
}

/* A shorter encoder has none of its own: it takes the longer one's in the same order. */
static struct tensor *parameter(struct builder *builder, const char *name, int64_t rows,
                                int64_t width, bool decays, struct initial initial)
{
    struct encoder *encoder = builder->encoder;
    struct tensor *value;

    if (encoder->longer != NULL)
        return encoder->longer->parameters[encoder->parameter_count++].value;
    value = add_matrix(builder, name, MEMORY_PARAMETERS, rows, width);
    value->gradient = add_matrix(builder, name, MEMORY_GRADIENTS, rows, width);
    value->persistent = value->gradient->persistent = true;
    builder->initials[encoder->parameter_count] = initial;
    encoder->parameters[encoder->parameter_count++] =
        (struct parameter){ .value = value, .decays = decays };
    return value;
}

/* Variance 1 / in keeps the size of activations (LeCun et al., "Efficient BackProp", 1998). `gain`
 * is below 1 for what is added to the residual stream, twice a block: its sum would grow with the
 * blocks (Radford et al., "Language models are unsupervised multitask learners", 2019). */
static struct tensor *weight(struct builder *builder, const char *name, int in, int out,
                             double gain)
{
    struct initial initial = { .deviation = (float)(gain / sqrt(in)) };

    return parameter(builder, name, in, out, true, initial);
}

/* It begins at 0, and does not decay: it is a shift, and not a weight that could grow. */
static struct tensor *bias(struct builder *builder, const char *name, int width)
{
    return parameter(builder, name, 1, width, false, (struct initial){ 0, 0 });
}

static void add_op(struct builder *builder, const char *name, struct op op)
{
    name_in_block(builder, op.name, sizeof op.name, name);
    op.block = builder->block;
    builder->encoder->ops[builder->encoder->op_count++] = op;
}

static struct op *last_op(const struct builder *builder)
{
    return &builder->encoder->ops[builder->encoder->op_count - 1];
}

/* A tensor of the same shape in fp64, named after it, whose gradient is one of its own. */
static struct tensor *double_of(struct builder *builder, const char *name, const char *what,
                                const struct tensor *like)
{
    char text[40];
    struct tensor *value;

    snprintf(text, sizeof text, "%s_%s", name, what);
    value = add_tensor(builder, text, DTYPE_F64, MEMORY_ACTIVATIONS, like->elements);
    value->width = like->width;
    if (like->gradient != NULL) {
        value->gradient =
            add_tensor(builder, text, DTYPE_F64, MEMORY_ACTIVATION_GRADIENTS, like->elements);
        value->gradient->width = like->width;
    }
    return value;
}

static void add_cast(struct builder *builder, const char *name, const char *what, struct tensor *y,
                     struct tensor *x)
{
    char text[40];

    snprintf(text, sizeof text, "%s_%s", name, what);
    add_op(builder, text, op_cast(&builder->encoder->shape, y, x));
}

/* y = x weight, with rows of x that are x_row elements apart. */
static void add_product(struct builder *builder, const char *name, struct tensor *y,
                        struct tensor *x, struct tensor *factor, int rows, int in, int out,
                        int x_row)
{
    const struct model_shape *shape = &builder->encoder->shape;
    struct tensor *wide_x, *wide_factor, *wide_y;

    if (!builder->model->fp64_linear) {
        add_op(builder, name, op_linear(shape, y, x, factor, rows, in, out, x_row));
        return;
    }
    wide_x = double_of(builder, name, "x", x);
    wide_factor = double_of(builder, name, "w", factor);
    wide_y = double_of(builder, name, "y", y);
    add_cast(builder, name, "x", wide_x, x);
    add_cast(builder, name, "w", wide_factor, factor);
    add_op(builder, name, op_linear(shape, wide_y, wide_x, wide_factor, rows, in, out, x_row));
    add_cast(builder, name, "y", y, wide_y);
}

/* y = x weight + bias. Fused, the bias is left to the next op and comes back; where it is added
 * here, by the product or by an op of its own, NULL does. */
static struct tensor *add_linear(struct builder *builder, const char *name, struct tensor *y,
                                 struct tensor *x, int in, int out, double gain)
{
    const struct model_shape *shape = &builder->encoder->shape;
    char text[40];
    struct tensor *added;

    snprintf(text, sizeof text, "%s_weight", name);
    added = weight(builder, text, in, out, gain);
    snprintf(text, sizeof text, "%s_linear", name);
    add_product(builder, text, y, x, added, shape->rows, in, out, in);
    snprintf(text, sizeof text, "%s_bias", name);
    added = bias(builder, text, out);
    if (builder->epilogue)
        op_linear_bias(last_op(builder), added, builder->partial);
    else if (builder->fused)
        return added;
    else
        add_op(builder, text, op_bias(shape, y, added, builder->partial, shape->rows, out));
    return NULL;
}

/* mean, rstd and the parameters of one normalisation, whose result is `y`. */
static struct norm_tensors norm_tensors(struct builder *builder, const char *name, struct tensor *y)
{
    const struct model_shape *shape = &builder->encoder->shape;
    char text[40];
    struct norm_tensors norm = { .y = y, .partial = builder->partial };

    snprintf(text, sizeof text, "%s.mean", name);
    norm.mean = add_tensor(builder, text, DTYPE_F32, MEMORY_ACTIVATIONS, shape->rows);
    snprintf(text, sizeof text, "%s.rstd", name);
    norm.rstd = add_tensor(builder, text, DTYPE_F32, MEMORY_ACTIVATIONS, shape->rows);
    snprintf(text, sizeof text, "%s.weight", name);
    norm.weight = parameter(builder, text, 1, shape->width, false, (struct initial){ 0, 1 });
    snprintf(text, sizeof text, "%s.bias", name);
    norm.bias = bias(builder, text, shape->width);
    norm.scratch = builder->fused ? NULL : builder->scratch;
    return norm;
}

/* From the input to the first tokens: patches of images or ids of sequences, with positions. */
static struct tensor *add_front(struct builder *builder, const struct training_config *config)
{
    const struct model_shape *shape = &builder->encoder->shape;
    int width = shape->width;
    struct initial embedding = { .deviation = 0.02f };
    struct tensor *x =
        activation_sharing(builder, "embedding", shape->rows, width, builder->stream);
    struct tensor *positions =
        parameter(builder, "positions", shape->tokens, width, false, embedding);

    if (config->data.kind == DATA_IMAGES) {
        /* One token of a sample is the class token. */
        int patches = shape->samples * (shape->tokens - 1);
        struct tensor *cut =
            activation_sharing(builder, "patches", patches, shape->patch_width, NULL);
        struct tensor *product = activation(builder, "patch_product", patches, width);
        add_op(builder, "image_patches", op_image_patches(shape, cut));
        add_product(builder, "patch_linear", product, cut,
                    weight(builder, "patch_weight", shape->patch_width, width, 1), patches,
                    shape->patch_width, width, shape->patch_width);
        add_op(builder, "patch_embedding",
               op_patch_embedding(shape, x, product, bias(builder, "patch_bias", width), positions,
                                  builder->partial));
    } else {
        struct tensor *table =
            parameter(builder, "token_table", shape->vocabulary, width, true, embedding);
        add_op(builder, "token_embedding", op_token_embedding(shape, x, table, positions));
    }
    return x;
}

static struct tensor *lse_tensor(struct builder *builder)
{
    const struct model_shape *shape = &builder->encoder->shape;

    return add_tensor(builder, "lse", DTYPE_F32, MEMORY_ACTIVATIONS,
                      (int64_t)shape->rows * shape->heads);
}

/* y = attention of qkv, whose heads are copied into an order of their own, and the result's back.
 * `bias`, which is still to be added to qkv where it is not NULL, is added on the way. */
static void add_copied_heads(struct builder *builder, struct tensor *merged, struct tensor *qkv,
                             struct tensor *qkv_bias)
{
    const struct model_shape *shape = &builder->encoder->shape;
    int width = shape->width, rows = shape->rows;
    struct tensor *q = activation(builder, "q", rows, width);
    struct tensor *k = activation(builder, "k", rows, width);
    struct tensor *v = activation(builder, "v", rows, width);
    struct tensor *heads = activation(builder, "heads", rows, width);

    add_op(builder, "split_heads", op_split_heads(shape, q, k, v, qkv, qkv_bias, builder->partial));
    if (builder->attention_scratch != NULL) {
        add_op(builder, builder->library_attention ? "fused_attention" : "tiled_attention",
               op_fused_attention(shape, heads, lse_tensor(builder), q, k, v,
                                  builder->attention_scratch, builder->library_attention));
    } else {
        struct tensor *scores =
            activation(builder, "scores", (int64_t)rows * shape->heads, shape->scores_width);
        add_op(builder, "scores", op_scores(shape, scores, q, k));
        add_op(builder, "softmax", op_softmax(shape, scores));
        add_op(builder, "weighted_values", op_weighted_values(shape, heads, scores, v));
    }
    add_op(builder, "merge_heads", op_merge_heads(shape, merged, heads));
}

/* From the normalised input `n` to the projected output, whose bias comes back in *projection_bias
 * where it is still to be added (fused). */
static struct tensor *add_attention(struct builder *builder, struct tensor *n,
                                    struct tensor **projection_bias)
{
    const struct model_shape *shape = &builder->encoder->shape;
    int width = shape->width, rows = shape->rows;
    struct tensor *qkv = activation(builder, "qkv", rows, 3 * width);
    struct tensor *merged = activation(builder, "merged", rows, width), *qkv_bias;
    struct tensor *projected =
        activation_sharing(builder, "projected", rows, width, builder->stream);

    qkv_bias = add_linear(builder, "qkv", qkv, n, width, 3 * width, 1);
    if (!shape->strided_heads) {
        add_copied_heads(builder, merged, qkv, qkv_bias);
    } else { /* where they are, without a copy: so the bias takes an op of its own */
        if (qkv_bias != NULL)
            add_op(builder, "qkv_bias",
                   op_bias(shape, qkv, qkv_bias, builder->partial, rows, 3 * width));
        add_op(builder, "fused_attention",
               op_strided_attention(shape, merged, lse_tensor(builder), qkv,
                                    builder->attention_scratch));
    }
    *projection_bias = add_linear(builder, "projection", projected, merged, width, width,
                                  1 / sqrt(2.0 * shape->blocks));
    return projected;
}

/* The hidden activations share one gradient: GELU's backward works in place. */
static struct tensor *add_mlp(struct builder *builder, struct tensor *n, struct tensor **out_bias)
{
    const struct model_shape *shape = &builder->encoder->shape;
    int width = shape->width, hidden = shape->hidden, rows = shape->rows;
    struct tensor *gelu = activation(builder, "gelu", rows, hidden);
    struct tensor *expanded = activation_sharing(builder, "expanded", rows, hidden, gelu->gradient);
    struct tensor *contracted =
        activation_sharing(builder, "contracted", rows, width, builder->stream);
    struct tensor *hidden_bias;
    struct op *expand;
    bool fused = builder->fused;

    /* The host would need the bias too: there it is added before. */
    builder->fused = fused && builder->encoder->host == NULL;
    hidden_bias = add_linear(builder, "expand", expanded, n, width, hidden, 1);
    builder->fused = fused;
    expand = builder->epilogue && builder->encoder->host == NULL ? last_op(builder) : NULL;
    if (expand == NULL)
        add_op(
            builder, "gelu",
            op_gelu(shape, gelu, expanded, hidden_bias, builder->partial, builder->encoder->host));
    *out_bias = add_linear(builder, "contract", contracted, gelu, hidden, width,
                           1 / sqrt(2.0 * shape->blocks));
    if (expand != NULL)
        op_linear_gelu(expand, gelu, last_op(builder));
    return contracted;
}

/* A parameter of each expert, in order of the ranks; returns that of the experts here, `rows` of
 * each. */
static struct tensor *expert_parameter(struct builder *builder, const char *name, int rows,
                                       int width, struct initial initial)
{
    const struct model_config *model = builder->model;
    int here = model->experts / model->expert_parts;
    struct encoder *encoder = builder->encoder;
    struct tensor *own = NULL;

    for (int part = 0; part < model->expert_parts; part++) {
        char text[40];
        struct tensor *value;
        snprintf(text, sizeof text, "experts%d.%s", part, name);
        value =
            parameter(builder, text, (int64_t)here * rows, width, initial.deviation > 0, initial);
        encoder->parameters[encoder->parameter_count - 1].is_experts = true;
        if (part == model->expert_part)
            own = value;
    }
    return own;
}

/* A vector of fp32 numbers, padded. */
static struct tensor *add_floats(struct builder *builder, const char *name,
                                 enum allocator_category category, int count)
{
    return add_tensor(builder, name, DTYPE_F32, category, round_up(count));
}

static void add_expert_parameters(struct builder *builder, struct expert_tensors *t)
{
    const struct model_shape *shape = &builder->encoder->shape;
    int width = shape->width, hidden = shape->hidden;
    const struct initial zero = { 0, 0 };
    struct initial expand = { .deviation = (float)(1 / sqrt(width)) };
    struct initial contract = { .deviation = (float)(1 / sqrt(2.0 * shape->blocks * hidden)) };

    t->router = weight(builder, "router_weight", width, round_up(builder->model->experts), 1);
    t->expand_weight = expert_parameter(builder, "expand_weight", width, hidden, expand);
    t->expand_bias = expert_parameter(builder, "expand_bias", 1, hidden, zero);
    t->contract_weight = expert_parameter(builder, "contract_weight", hidden, width, contract);
    t->contract_bias = expert_parameter(builder, "contract_bias", 1, width, zero);
}

/* Received tensors have as many rows as routers choose, and until then as many as are sent. */
static void add_expert_activations(struct builder *builder, struct expert_tensors *t)
{
    const struct model_shape *shape = &builder->encoder->shape;
    const struct model_config *model = builder->model;
    int rows = shape->rows, width = shape->width;

    t->y = activation_sharing(builder, "combined", rows, width, builder->stream);
    t->bias = add_floats(builder, "router_bias", MEMORY_WORKSPACE, model->experts);
    t->bias->persistent = true;
    t->logits = activation(builder, "router_logits", rows, round_up(model->experts));
    t->routes = add_floats(builder, "routes", MEMORY_ACTIVATIONS, 2 * round_up(rows));
    t->gate = add_floats(builder, "gate", MEMORY_ACTIVATIONS, rows);
    t->gate->gradient = add_floats(builder, "gate", MEMORY_ACTIVATION_GRADIENTS, rows);
    t->counts = add_floats(builder, "expert_counts", MEMORY_ACTIVATIONS,
                           model->expert_parts * model->experts);
    t->sent = activation(builder, "sent", rows, width);
    t->received = activation(builder, "received", rows, width);
    t->gelu = activation(builder, "gelu", rows, shape->hidden);
    t->expanded = activation_sharing(builder, "expanded", rows, shape->hidden, t->gelu->gradient);
    t->computed = activation(builder, "computed", rows, width);
    t->returned = activation(builder, "returned", rows, width);
    t->partial = builder->partial;
}

/* A mixture of experts in place of the block's MLP. */
static struct tensor *add_experts(struct builder *builder, struct tensor *x)
{
    struct expert_tensors tensors = { .x = x };
    struct op ops[MIXTURE_OPS];

    add_expert_parameters(builder, &tensors);
    add_expert_activations(builder, &tensors);
    mixture_build(builder->encoder->mixtures[builder->block], &tensors, ops);
    for (int i = 0; i < MIXTURE_OPS; i++) {
        char name[sizeof ops[i].name];
        snprintf(name, sizeof name, "%s", ops[i].name);
        add_op(builder, name, ops[i]);
    }
    builder->encoder->router_biases[builder->block] = tensors.bias;
    return tensors.y;
}

/* x + attention(norm(x)), then that + mlp(norm(that)). */
static struct tensor *add_block(struct builder *builder, struct tensor *x)
{
    const struct model_shape *shape = &builder->encoder->shape;
    int rows = shape->rows, width = shape->width;
    struct tensor *n1 = activation(builder, "norm1", rows, width), *branch, *branch_bias;
    struct norm_tensors norm = norm_tensors(builder, "norm1", n1);
    struct tensor *middle, *n2, *y;

    add_op(builder, "norm1", op_layernorm(shape, &norm, x, false));
    branch = add_attention(builder, n1, &branch_bias);
    middle = activation_sharing(builder, "middle", rows, width, builder->stream);
    n2 = activation(builder, "norm2", rows, width);
    norm = norm_tensors(builder, "norm2", n2);
    if (builder->fused) {
        add_op(builder, "residual1_norm2",
               op_residual_layernorm(shape, &norm, middle, x, branch, branch_bias));
    } else {
        add_op(builder, "residual1", op_residual(shape, middle, x, branch, NULL, builder->partial));
        add_op(builder, "norm2", op_layernorm(shape, &norm, middle, false));
    }
    if (builder->encoder->mixtures != NULL) {
        branch = add_experts(builder, n2);
        branch_bias = NULL;
    } else {
        branch = add_mlp(builder, n2, &branch_bias);
    }
    y = activation_sharing(builder, "out", rows, width, builder->stream);
    add_op(builder, "residual2",
           op_residual(shape, y, middle, branch, branch_bias, builder->partial));
    return y;
}

/* The last norm, the classifier on every sample's class token, and the loss. */
static void add_head(struct builder *builder, struct tensor *x, enum accuracy_mode accuracy,
                     enum selection selection)
{
    struct encoder *encoder = builder->encoder;
    const struct model_shape *shape = &encoder->shape;
    int samples = shape->samples, width = shape->width, classes = shape->classes_width;
    struct tensor *n = activation(builder, "norm", shape->rows, width);
    struct norm_tensors norm = norm_tensors(builder, "norm", n);
    struct tensor *logits = activation(builder, "logits", samples, classes);
    struct tensor *losses =
        add_tensor(builder, "losses", DTYPE_F32, MEMORY_ACTIVATIONS, round_up(samples));
    struct tensor *rows = NULL;

    add_op(builder, "norm", op_layernorm(shape, &norm, x, true));
    /* A row of x per sample: its first token. The next row is all tokens of a sample further. */
    add_product(builder, "classifier", logits, n,
                weight(builder, "classifier_weight", width, classes, 1), samples, width, classes,
                shape->tokens * width);
    add_op(builder, "classifier_bias",
           op_bias(shape, logits, bias(builder, "classifier_bias", classes), builder->partial,
                   samples, classes));
    encoder->logits = logits;
    encoder->logits_op = encoder->op_count;
    logits->persistent = accuracy == ACCURACY_HOST;
    if (accuracy == ACCURACY_DEVICE) {
        encoder->right =
            add_tensor(builder, "right", DTYPE_F32, MEMORY_WORKSPACE, round_up(samples));
        encoder->right->persistent = true;
        add_op(builder, "accuracy", op_accuracy(shape, encoder->right, logits));
    }
    if (selection != SELECTION_ALL)
        rows = add_tensor(builder, "hard_rows", DTYPE_F32, MEMORY_ACTIVATIONS,
                          round_up(samples) + ROW_MULTIPLE);
    add_op(builder, "loss", op_loss(shape, losses, logits, rows, encoder->kept));
}

/* The least that a pass must move: each tensor that it reads or writes, once. */
static void count_bytes(struct pass *pass)
{
    for (int i = 0; i < PASS_READS; i++)
        if (pass->reads[i] != NULL)
            pass->bytes += (int64_t)tensor_bytes(pass->reads[i]);
    for (int i = 0; i < PASS_WRITES; i++)
        if (pass->writes[i] != NULL)
            pass->bytes += (int64_t)tensor_bytes(pass->writes[i]);
}

static void say_own_attention(const char *context, const char *why)
{
    notice_once("attention=fused runs our own kernels, without the matrix units: %s%s%s", context,
                context[0] != '\0' ? ": " : "", why);
}

/* Chooses the library's attention or our own, and the scratch memory that it needs. Only a
 * library's takes strides. */
static enum status choose_attention(struct builder *builder, const struct training_config *config,
                                    struct device *device)
{
    const struct model_shape *shape = &builder->encoder->shape;
    const struct device_properties *properties = device_properties(device);
    struct attention_shape wanted = attention_shape(shape, config->data.kind != DATA_IMAGES);
    size_t bytes = 0;
    enum status status;

    builder->scratch_floats = (int64_t)shape->rows * shape->heads;
    if (config->model.attention != ATTENTION_FUSED)
        return STATUS_OK;
    if (!properties->fused_attention && !shape->strided_heads) {
        if (properties->attention_library[0] != '\0')
            say_own_attention("", properties->attention_library);
        return STATUS_OK;
    }
    status = device_attention_plan(device, &wanted, &bytes);
    if (status == STATUS_UNSUPPORTED && !shape->strided_heads) {
        say_own_attention(status_last()->context, status_last()->text);
        return STATUS_OK;
    }
    if (status == STATUS_UNSUPPORTED)
        status_context("heads=strided, which our own kernels do not take");
    TRY(status);
    builder->library_attention = true;
    /* One more, as a tensor has at least one element. */
    builder->scratch_floats = (int64_t)(bytes / sizeof(float)) + 1;

    return STATUS_OK;
}

/* The first block of part `part`, or the number of blocks for the part after the last one. Blocks
 * are shared out as evenly as whole blocks allow. */
static int first_block(const struct model_config *model, int part)
{
    return model->parts > 1 ? model->blocks * part / model->parts : part * model->blocks;
}

/* Notes where this rank's part begins and ends: before block `i`, or after the last one, whose
 * input is `x`. */
static void note_border(struct encoder *encoder, const struct model_config *model, int i,
                        struct tensor *x)
{
    if (i > 0 && i == first_block(model, model->part)) {
        encoder->first_op = encoder->op_count;
        encoder->input = x;
    }
    if (i < model->blocks && i == first_block(model, model->part + 1)) {
        encoder->end_op = encoder->op_count;
        encoder->output = x;
    }
}

/* Tensors that ranks exchange have memory of their own, which no pass frees. */
static void keep_borders(struct encoder *encoder)
{
    if (encoder->input != NULL)
        encoder->input->persistent = true;
    if (encoder->output != NULL)
        encoder->output->persistent = true;
    else
        encoder->end_op = encoder->op_count;
    encoder->stream->persistent = encoder->input != NULL || encoder->output != NULL;
}

/* All ops of the whole model, whatever part of it this rank runs: the first and last op of the
 * part are noted on the way. */
static void build_ops(struct builder *builder, const struct training_config *config)
{
    struct encoder *encoder = builder->encoder;
    const struct model_shape *shape = &encoder->shape;
    int widest =
        shape->hidden > 2 * shape->classes_width ? shape->hidden : 2 * shape->classes_width;
    /* One rank's experts may get the tokens of all. */
    int rows = shape->rows * (encoder->mixtures != NULL ? config->model.expert_parts : 1);
    struct column_grid grid = column_grid(shape, shape->dtype, rows, widest);
    struct tensor *x;

    builder->block = -1;
    builder->stream = encoder->stream =
        add_matrix(builder, "stream", MEMORY_ACTIVATION_GRADIENTS, shape->rows, shape->width);
    builder->partial = add_tensor(builder, "column_partials", DTYPE_F32, MEMORY_WORKSPACE,
                                  (int64_t)grid.parts * widest);
    builder->scratch =
        add_matrix(builder, "norm_scratch", MEMORY_WORKSPACE, shape->rows, shape->width);
    if (config->model.attention == ATTENTION_FUSED)
        builder->attention_scratch = add_tensor(builder, "attention_scratch", DTYPE_F32,
                                                MEMORY_WORKSPACE, builder->scratch_floats);
    x = add_front(builder, config);
    for (int i = 0; i < shape->blocks; i++) {
        note_border(encoder, &config->model, i, x);
        builder->block = i;
        x = add_block(builder, x);
    }
    builder->block = -1;
    add_head(builder, x, config->logging.accuracy, config->model.selection);
    keep_borders(encoder);
    for (int i = 0; i < encoder->op_count; i++) {
        count_bytes(&encoder->ops[i].forward);
        count_bytes(&encoder->ops[i].backward);
    }
}

/* One mixture for each block; all of them share the counts of routed tokens. */
static enum status open_mixtures(struct encoder *encoder, const struct model_config *model,
                                 struct device *device)
{
    const struct mixture_options options = { model->experts, model->expert_part,
                                             model->expert_parts, model->balances_experts,
                                             &encoder->routed };

    if (model->experts == 0)
        return STATUS_OK;
    TRY(rows_make(&encoder->mixtures, model->blocks));
    TRY(rows_make(&encoder->router_biases, model->blocks));
    for (int i = 0; i < model->blocks; i++)
        TRY(mixture_open(&encoder->mixtures[i], device, &encoder->shape, &options));

    return STATUS_OK;
}

/* Arrays are made large enough at once, since ops point into them. */
static enum status build_all(struct builder *builder, const struct training_config *config,
                             struct device *device)
{
    struct encoder *encoder = builder->encoder;
    int64_t blocks = config->model.blocks, parts = config->model.expert_parts;
    int64_t tensors = TENSORS_OUTSIDE + (TENSORS_A_BLOCK + TENSORS_A_PART * parts) * blocks;

    column_sums_choose(&encoder->shape, device_properties(device));
    TRY(rows_make(&encoder->ops, OPS_OUTSIDE + OPS_A_BLOCK * blocks));
    TRY(rows_make(&encoder->tensors, tensors));
    TRY(rows_make(&builder->initials, tensors));
    if (encoder->longer != NULL)
        encoder->parameters = encoder->longer->parameters;
    else
        TRY(rows_make(&encoder->parameters, tensors));
    builder->fused = config->model.elementwise != ELEMENTWISE_UNFUSED;
    builder->epilogue =
        config->model.elementwise == ELEMENTWISE_EPILOGUE && !config->model.fp64_linear;
    builder->model = &config->model;
    encoder->device = device;
    TRY(open_mixtures(encoder, &config->model, device));
    if (config->model.gelu_on_host)
        TRY(host_alloc(device, true,
                       (size_t)encoder->shape.rows * (size_t)encoder->shape.hidden *
                           dtype_bytes(encoder->shape.dtype),
                       &encoder->host));
    if (config->model.selection == SELECTION_COUNTED)
        TRY(host_alloc(device, true, sizeof(int32_t), &encoder->kept));
    TRY(choose_attention(builder, config, device));
    build_ops(builder, config);
    TRY(program_build(&encoder->train, PROGRAM_TRAIN, encoder->ops + encoder->first_op,
                      encoder->end_op - encoder->first_op, config->model.checkpointing));
    return program_build(
        &encoder->evaluate, PROGRAM_FORWARD, encoder->ops + encoder->first_op,
        (encoder->output != NULL ? encoder->end_op : encoder->logits_op) - encoder->first_op, 0);
}

enum status encoder_build(struct encoder *encoder, const struct training_config *config,
                          struct device *device, struct initial **initials)
{
    struct builder builder = { .encoder = encoder };
    enum status status = build_all(&builder, config, device);

    *initials = builder.initials;
    return status;
}
