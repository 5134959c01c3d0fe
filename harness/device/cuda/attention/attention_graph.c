/* The composite graphs, of which cuDNN makes one kernel each (forward) or a few (backward). Its
 * pattern matcher knows them in this form ("cuDNN Graph API", "Fused Flash Attention"): scores are
 * scaled, then masked by comparing the indices of rows and columns with the lengths, and softmax is
 * its five operations; backward makes its two transposes by reshapes, and adds dq up in fp32 first.
 * There is one operation for forward in newer versions, and none for backward on most GPUs, so both
 * are composed.
 *
 * Only what the graph's user can see is in memory; whatever else has no address ("virtual").
 *
 * An H200 has run these (test_gpu_attention). cuDNN 9.19 accepts every descriptor, and given the
 * properties of an H200 in place of one (CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR) it lists four engines
 * for forward and three for backward, in bf16 with 200 tokens and a width of 64, with lengths and
 * without. */
#include "harness/device/cuda/attention/attention_graph.h"

#include <math.h>

/* Builds as expressions: after a failure all further calls do nothing. */
struct builder {
    struct attention_graph *graph;
    const struct attention_shape *shape;
    enum status status;
    int64_t next_id;
    cudnnBackendDescriptor_t operations[32];
    int operation_count;
};

typedef cudnnBackendDescriptor_t descriptor;

static const cudnnDataType_t types[DTYPE_COUNT] = {
    [DTYPE_F32] = CUDNN_DATA_FLOAT,
    [DTYPE_BF16] = CUDNN_DATA_BFLOAT16,
    [DTYPE_F16] = CUDNN_DATA_HALF,
};

/* The graph keeps every descriptor, so that its release needs no order. */
descriptor attention_graph_own(struct attention_graph *graph, enum status *status,
                               cudnnBackendDescriptorType_t type)
{
    descriptor made = NULL;

    if (*status == STATUS_OK && graph->count == ATTENTION_DESCRIPTORS)
        *status =
            status_fail(STATUS_INTERNAL, __FILE__, __LINE__,
                        "a graph of attention has more than %d descriptors", ATTENTION_DESCRIPTORS);
    if (*status == STATUS_OK)
        *status = cudnn_check(graph->cudnn, graph->cudnn->descriptor_create(type, &made),
                              "cudnnBackendCreateDescriptor");
    if (*status != STATUS_OK)
        return NULL;
    graph->owned[graph->count++] = made;
    return made;
}

static descriptor descriptor_make(struct builder *builder, cudnnBackendDescriptorType_t type)
{
    return attention_graph_own(builder->graph, &builder->status, type);
}

static void descriptor_set(struct builder *builder, descriptor of, cudnnBackendAttributeName_t name,
                           cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
    const struct cudnn *cudnn = builder->graph->cudnn;

    if (builder->status == STATUS_OK)
        builder->status = cudnn_check(cudnn, cudnn->attribute_set(of, name, type, count, values),
                                      "cudnnBackendSetAttribute");
}

/* An attribute that is a descriptor; NULL leaves it out. */
static void link_to(struct builder *builder, descriptor of, cudnnBackendAttributeName_t name,
                    descriptor to)
{
    if (to != NULL)
        descriptor_set(builder, of, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &to);
}

static void finalize(struct builder *builder, descriptor made, const char *what)
{
    const struct cudnn *cudnn = builder->graph->cudnn;

    if (builder->status != STATUS_OK)
        return;
    builder->status = cudnn_check(cudnn, cudnn->descriptor_finalize(made), "cudnnBackendFinalize");
    if (builder->status != STATUS_OK)
        status_context("%s of fused attention", what);
}

static void finalize_operation(struct builder *builder, descriptor operation, const char *what)
{
    finalize(builder, operation, what);
    builder->operations[builder->operation_count++] = operation;
}

/* --- Tensors --- */

struct form {
    int64_t sizes[4], strides[4];
    cudnnDataType_t type;
};

/* id 0: the tensor stays in the kernel. */
static descriptor tensor(struct builder *builder, struct form form, enum attention_tensor id,
                         bool on_host)
{
    descriptor made = descriptor_make(builder, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    int64_t alignment = 16, unique = id != 0 ? (int64_t)id : builder->next_id++;
    bool virtual = id == 0;

    descriptor_set(builder, made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &form.type);
    descriptor_set(builder, made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, form.sizes);
    descriptor_set(builder, made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, form.strides);
    descriptor_set(builder, made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &unique);
    descriptor_set(builder, made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1,
                   &alignment);
    descriptor_set(builder, made, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &virtual);
    descriptor_set(builder, made, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &on_host);
    finalize(builder, made, "a tensor");
    return made;
}

/* [samples, heads, rows, columns], or the transpose of such a matrix seen as [.., columns,
 * rows]. */
static struct form matrix(const struct builder *builder, int64_t rows, int64_t columns,
                          cudnnDataType_t type)
{
    int64_t samples = builder->shape->samples, heads = builder->shape->heads;

    return (struct form){ { samples, heads, rows, columns },
                          { heads * rows * columns, rows * columns, columns, 1 },
                          type };
}

static struct form transposed(struct form form)
{
    int64_t size = form.sizes[2], stride = form.strides[2];

    form.sizes[2] = form.sizes[3];
    form.sizes[3] = size;
    form.strides[2] = form.strides[3];
    form.strides[3] = stride;
    return form;
}

/* [samples, heads, tokens, width], where a token has `parts` such vectors of every head if
 * packed. */
static struct form vectors(const struct builder *builder, int parts)
{
    const struct attention_shape *shape = builder->shape;
    struct form form = matrix(builder, shape->tokens, shape->width, types[shape->dtype]);
    int64_t token = (int64_t)parts * shape->heads * shape->width;

    if (shape->packed) {
        form.strides[0] = shape->tokens * token;
        form.strides[1] = shape->width;
        form.strides[2] = token;
    }
    return form;
}

static struct form inputs(const struct builder *builder) /* q, k, v and their gradients */
{
    return vectors(builder, 3);
}

static struct form outputs(const struct builder *builder) /* y and dy */
{
    return vectors(builder, 1);
}

static struct form float_vectors(const struct builder *builder)
{
    return matrix(builder, builder->shape->tokens, builder->shape->width, CUDNN_DATA_FLOAT);
}

static struct form numbers(const struct builder *builder) /* one a query */
{
    return matrix(builder, builder->shape->tokens, 1, CUDNN_DATA_FLOAT);
}

static struct form scores(const struct builder *builder, cudnnDataType_t type)
{
    return matrix(builder, builder->shape->tokens, builder->shape->tokens, type);
}

static descriptor in_memory(struct builder *builder, struct form form, enum attention_tensor id)
{
    return tensor(builder, form, id, false);
}

static descriptor in_kernel(struct builder *builder, struct form form)
{
    return tensor(builder, form, 0, false);
}

static descriptor host_float(struct builder *builder, enum attention_tensor id)
{
    return tensor(builder, (struct form){ { 1, 1, 1, 1 }, { 1, 1, 1, 1 }, CUDNN_DATA_FLOAT }, id,
                  true);
}

/* NULL where all sequences are full. */
static descriptor lengths(struct builder *builder, enum attention_tensor id)
{
    struct form form = { { builder->shape->samples, 1, 1, 1 }, { 1, 1, 1, 1 }, CUDNN_DATA_INT32 };

    return builder->shape->lengths ? in_memory(builder, form, id) : NULL;
}

/* --- Operations: each returns its result --- */

struct pointwise {
    cudnnPointwiseMode_t mode;
    cudnnDataType_t precision;
    int64_t axis; /* of GEN_INDEX */
    descriptor x, b, t, y;
};

static descriptor pointwise(struct builder *builder, struct pointwise form)
{
    descriptor what = descriptor_make(builder, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    descriptor operation;

    descriptor_set(builder, what, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1,
                   &form.mode);
    descriptor_set(builder, what, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1,
                   &form.precision);
    if (form.mode == CUDNN_POINTWISE_GEN_INDEX)
        descriptor_set(builder, what, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &form.axis);
    finalize(builder, what, "an elementwise function");
    operation = descriptor_make(builder, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    link_to(builder, operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, what);
    link_to(builder, operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, form.x);
    link_to(builder, operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, form.b);
    link_to(builder, operation, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, form.t);
    link_to(builder, operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, form.y);
    finalize_operation(builder, operation, "an elementwise operation");
    return form.y;
}

static descriptor floats(struct builder *builder, cudnnPointwiseMode_t mode, descriptor x,
                         descriptor b, descriptor y)
{
    return pointwise(builder, (struct pointwise){ mode, CUDNN_DATA_FLOAT, 0, x, b, NULL, y });
}

static descriptor reduce(struct builder *builder, cudnnReduceTensorOp_t mode, descriptor x,
                         descriptor y)
{
    descriptor what = descriptor_make(builder, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    descriptor operation;
    cudnnDataType_t precision = CUDNN_DATA_FLOAT;

    descriptor_set(builder, what, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE,
                   1, &mode);
    descriptor_set(builder, what, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
                   &precision);
    finalize(builder, what, "a reduction's function");
    operation = descriptor_make(builder, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    link_to(builder, operation, CUDNN_ATTR_OPERATION_REDUCTION_DESC, what);
    link_to(builder, operation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    link_to(builder, operation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
    finalize_operation(builder, operation, "a reduction");
    return y;
}

/* c [m, n] = a [m, k] b [k, n]. Where m, n or k is given, it holds the lengths up to which that
 * dimension counts, per sample; NULL: all of it counts. */
static descriptor multiply(struct builder *builder, descriptor a, descriptor b, descriptor m,
                           descriptor n, descriptor k, descriptor c)
{
    descriptor what = descriptor_make(builder, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    descriptor operation;
    cudnnDataType_t precision = CUDNN_DATA_FLOAT;

    descriptor_set(builder, what, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &precision);
    finalize(builder, what, "a product's precision");
    operation = descriptor_make(builder, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    link_to(builder, operation, CUDNN_ATTR_OPERATION_MATMUL_DESC, what);
    link_to(builder, operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
    link_to(builder, operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
    link_to(builder, operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
    link_to(builder, operation, CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, m);
    link_to(builder, operation, CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, n);
    link_to(builder, operation, CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, k);
    finalize_operation(builder, operation, "a product");
    return c;
}

static descriptor reshape(struct builder *builder, descriptor x, descriptor y)
{
    descriptor operation = descriptor_make(builder, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);

    link_to(builder, operation, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
    link_to(builder, operation, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
    finalize_operation(builder, operation, "a reshape");
    return y;
}

/* Whether each score's row or column is below its sample's length. */
static descriptor below(struct builder *builder, descriptor x, int64_t axis, descriptor limits)
{
    descriptor index =
        pointwise(builder, (struct pointwise){
                               .mode = CUDNN_POINTWISE_GEN_INDEX,
                               .precision = CUDNN_DATA_INT32,
                               .axis = axis,
                               .x = x,
                               .y = in_kernel(builder, scores(builder, CUDNN_DATA_INT32)),
                           });

    return pointwise(builder, (struct pointwise){
                                  .mode = CUDNN_POINTWISE_CMP_LT,
                                  .precision = CUDNN_DATA_BOOLEAN,
                                  .x = index,
                                  .b = limits,
                                  .y = in_kernel(builder, scores(builder, CUDNN_DATA_BOOLEAN)),
                              });
}

/* --- The passes --- */

/* The tensors that both passes begin with. */
struct shared {
    descriptor q, k_transposed, query_lengths, key_lengths, scale;
};

static struct shared shared_tensors(struct builder *builder)
{
    return (struct shared){
        .q = in_memory(builder, inputs(builder), ATTENTION_Q),
        .k_transposed = in_memory(builder, transposed(inputs(builder)), ATTENTION_K),
        .query_lengths = lengths(builder, ATTENTION_QUERY_LENGTHS),
        .key_lengths = lengths(builder, ATTENTION_KEY_LENGTHS),
        .scale = host_float(builder, ATTENTION_SCALE),
    };
}

static descriptor scores_tensor(struct builder *builder)
{
    return in_kernel(builder, scores(builder, CUDNN_DATA_FLOAT));
}

static descriptor scaled_scores(struct builder *builder, const struct shared *shared)
{
    descriptor s = multiply(builder, shared->q, shared->k_transposed, shared->query_lengths,
                            shared->key_lengths, NULL, scores_tensor(builder));

    return floats(builder, CUDNN_POINTWISE_MUL, s, shared->scale, scores_tensor(builder));
}

/* Minus infinity where a row or column does not count. */
static descriptor masked(struct builder *builder, const struct shared *shared, descriptor s)
{
    descriptor rows, columns, both, nothing;

    if (!builder->shape->lengths)
        return s;
    rows = below(builder, s, 2, shared->query_lengths);
    columns = below(builder, s, 3, shared->key_lengths);
    both = pointwise(builder, (struct pointwise){
                                  .mode = CUDNN_POINTWISE_LOGICAL_AND,
                                  .precision = CUDNN_DATA_BOOLEAN,
                                  .x = rows,
                                  .b = columns,
                                  .y = in_kernel(builder, scores(builder, CUDNN_DATA_BOOLEAN)),
                              });
    nothing = host_float(builder, ATTENTION_NOTHING);
    return pointwise(builder, (struct pointwise){ CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT,
                                                  0, s, nothing, both, scores_tensor(builder) });
}

/* y = softmax(s) v, with the softmax as five operations: e = exp(s - max), sum, log(sum) + max for
 * the statistics, p = e / sum. The row maximum keeps exp() from overflowing. */
static void forward(struct builder *builder)
{
    struct shared shared = shared_tensors(builder);
    descriptor s = masked(builder, &shared, scaled_scores(builder, &shared));
    descriptor max =
        reduce(builder, CUDNN_REDUCE_TENSOR_MAX, s, in_kernel(builder, numbers(builder)));
    descriptor e = floats(builder, CUDNN_POINTWISE_EXP,
                          floats(builder, CUDNN_POINTWISE_SUB, s, max, scores_tensor(builder)),
                          NULL, scores_tensor(builder));
    descriptor sum =
        reduce(builder, CUDNN_REDUCE_TENSOR_ADD, e, in_kernel(builder, numbers(builder)));
    descriptor log_sum =
        floats(builder, CUDNN_POINTWISE_LOG, sum, NULL, in_kernel(builder, numbers(builder)));
    descriptor p;

    floats(builder, CUDNN_POINTWISE_ADD, log_sum, max,
           in_memory(builder, numbers(builder), ATTENTION_STATISTICS));
    p = floats(builder, CUDNN_POINTWISE_DIV, e, sum,
               in_kernel(builder, scores(builder, types[builder->shape->dtype])));
    multiply(builder, p, in_memory(builder, inputs(builder), ATTENTION_V), shared.query_lengths,
             NULL, shared.key_lengths, in_memory(builder, outputs(builder), ATTENTION_Y));
}

/* to = x' vectors, where x is [queries, keys]: a gradient of keys or values. */
static void transpose_multiply(struct builder *builder, const struct shared *shared, descriptor x,
                               descriptor by, enum attention_tensor to)
{
    struct form form = transposed(scores(builder, types[builder->shape->dtype]));

    multiply(builder, reshape(builder, x, in_kernel(builder, form)), by, shared->key_lengths, NULL,
             shared->query_lengths, in_memory(builder, inputs(builder), to));
}

/* Computes p again from the statistics, p = exp(s - statistics), so no scores were stored. Then
 * dv = p' dy, ds = p (dy v' - delta) scale, dk = ds' q, dq = ds k, where delta = sum(dy y) per
 * query. */
static void backward(struct builder *builder)
{
    struct shared shared = shared_tensors(builder);
    descriptor dy = in_memory(builder, outputs(builder), ATTENTION_DY);
    /* The row sums of dy * y, in memory. */
    descriptor y = in_memory(builder, outputs(builder), ATTENTION_Y), sum;

    sum = reduce(
        builder, CUDNN_REDUCE_TENSOR_ADD,
        floats(builder, CUDNN_POINTWISE_MUL, dy, y, in_kernel(builder, float_vectors(builder))),
        in_kernel(builder, numbers(builder)));
    descriptor row_sums =
        floats(builder, CUDNN_POINTWISE_MUL, sum, host_float(builder, ATTENTION_ONE),
               in_memory(builder, numbers(builder), ATTENTION_DELTA));
    descriptor statistics = in_memory(builder, numbers(builder), ATTENTION_STATISTICS);
    descriptor s = floats(builder, CUDNN_POINTWISE_SUB, scaled_scores(builder, &shared), statistics,
                          scores_tensor(builder));
    descriptor p = floats(builder, CUDNN_POINTWISE_EXP, masked(builder, &shared, s), NULL,
                          scores_tensor(builder));
    descriptor ds, k, dq;

    transpose_multiply(builder, &shared, p, dy, ATTENTION_DV);
    ds = multiply(builder, dy, in_memory(builder, transposed(inputs(builder)), ATTENTION_V),
                  shared.query_lengths, shared.key_lengths, NULL, scores_tensor(builder));
    ds = floats(builder, CUDNN_POINTWISE_SUB, ds, row_sums, scores_tensor(builder));
    ds = floats(builder, CUDNN_POINTWISE_MUL, ds, p, scores_tensor(builder));
    ds = floats(builder, CUDNN_POINTWISE_MUL, ds, shared.scale, scores_tensor(builder));
    transpose_multiply(builder, &shared, ds, shared.q, ATTENTION_DK);
    k = reshape(builder, shared.k_transposed, in_kernel(builder, inputs(builder)));
    dq = multiply(builder, ds, k, shared.query_lengths, NULL, shared.key_lengths,
                  in_memory(builder, float_vectors(builder), ATTENTION_DQ_SUMS));
    floats(builder, CUDNN_POINTWISE_IDENTITY, dq, NULL,
           in_memory(builder, inputs(builder), ATTENTION_DQ));
}

enum status attention_graph_build(struct attention_graph *graph, const struct cudnn *cudnn,
                                  cudnnHandle_t handle, const struct attention_shape *shape,
                                  bool is_backward)
{
    struct builder builder = { .graph = graph, .shape = shape, .next_id = ATTENTION_TENSORS };
    descriptor all;

    *graph = (struct attention_graph){ .cudnn = cudnn };
    if (is_backward)
        backward(&builder);
    else
        forward(&builder);
    all = descriptor_make(&builder, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    descriptor_set(&builder, all, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                   builder.operation_count, builder.operations);
    if (handle != NULL)
        descriptor_set(&builder, all, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1,
                       &handle);
    finalize(&builder, all, is_backward ? "the backward graph" : "the forward graph");
    graph->operations = all;
    return builder.status;
}

void attention_graph_release(struct attention_graph *graph)
{
    while (graph->count > 0) graph->cudnn->descriptor_destroy(graph->owned[--graph->count]);
}
