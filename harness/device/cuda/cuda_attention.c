/* Fused attention by cuDNN. Plans of cuDNN's for both passes of a shape. Heuristics list engines,
 * best first; the first whose plan can be finalized is taken, which may compile a kernel: so plans
 * are made before a capture, and kept until the device is closed. Whatever cuDNN fails at in this,
 * the caller has kernels of its own: it is UNSUPPORTED, unless the GPU is lost or the fault is
 * ours. A run makes only a variant pack, on the host.
 *
 * The caller's workspace holds cuDNN's, and for backward the scratch that the graph names. The
 * lengths of the queries, all `tokens`, are the plan's own few bytes in device memory: with the
 * samples' lengths there instead, rows of y beyond them would be undefined, and products that
 * follow would meet them.
 *
 * It compiles against cuDNN 9.19; an H200 has run it, and its calls are tested over a stand-in. */
#include "harness/device/cuda/cuda.h"

#include "harness/device/cuda/attention/attention_graph.h"
#include "harness/device/plugin/attention_shape.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256, ENGINES = 16 };

struct pass_plan {
    struct attention_graph graph;
    cudnnBackendDescriptor_t plan; /* the graph's */
    size_t workspace_bytes;        /* cuDNN's */
};

struct plan {
    struct attention_shape shape;
    struct pass_plan passes[2]; /* forward, backward */
    int32_t *query_lengths;     /* device memory; NULL without lengths */
    size_t delta_bytes, dq_sums_bytes;
    struct plan *next;
};

struct attentions {
    const struct cudnn *cudnn;
    pthread_mutex_t lock; /* of all below */
    cudnnHandle_t handle;
    struct plan *plans;
};

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* --- Making plans --- */

/* A plan of the engine's. */
static enum status plan_of(struct pass_plan *pass, cudnnHandle_t handle,
                           cudnnBackendDescriptor_t engine)
{
    enum status status = STATUS_OK;
    const struct cudnn *cudnn = pass->graph.cudnn;
    int64_t bytes = 0, count = 0;
    cudnnBackendDescriptor_t plan;

    plan = attention_graph_own(&pass->graph, &status, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    TRY_OUT(status);
    TRY_OUT(cudnn_check(
        cudnn,
        cudnn->attribute_set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle),
        "cudnnBackendSetAttribute"));
    TRY_OUT(cudnn_check(cudnn,
                        cudnn->attribute_set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                                             CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine),
                        "cudnnBackendSetAttribute"));
    TRY_OUT(cudnn_check(cudnn, cudnn->descriptor_finalize(plan), "cudnnBackendFinalize"));
    TRY_OUT(cudnn_check(cudnn,
                        cudnn->attribute_get(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                             CUDNN_TYPE_INT64, 1, &count, &bytes),
                        "cudnnBackendGetAttribute"));
    pass->plan = plan;
    pass->workspace_bytes = aligned((size_t)bytes);

out:
    return status;
}

static enum status list_engines(struct pass_plan *pass, cudnnBackendDescriptor_t *engines,
                                int64_t *count)
{
    enum status status = STATUS_OK;
    const struct cudnn *cudnn = pass->graph.cudnn;
    cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    cudnnBackendDescriptor_t heuristics;

    *count = 0;
    heuristics = attention_graph_own(&pass->graph, &status, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    TRY_OUT(status);
    TRY_OUT(
        cudnn_check(cudnn,
                    cudnn->attribute_set(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                                         CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &pass->graph.operations),
                    "cudnnBackendSetAttribute"));
    TRY_OUT(cudnn_check(cudnn,
                        cudnn->attribute_set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE,
                                             CUDNN_TYPE_HEUR_MODE, 1, &mode),
                        "cudnnBackendSetAttribute"));
    TRY_OUT(cudnn_check(cudnn, cudnn->descriptor_finalize(heuristics), "cudnnBackendFinalize"));
    for (int i = 0; i < ENGINES; i++) {
        engines[i] = attention_graph_own(&pass->graph, &status, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
        TRY_OUT(status);
    }
    TRY_OUT(
        cudnn_check(cudnn,
                    cudnn->attribute_get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                         CUDNN_TYPE_BACKEND_DESCRIPTOR, ENGINES, count, engines),
                    "cudnnBackendGetAttribute"));

out:
    return status;
}

static enum status make_pass(struct attentions *attentions, struct pass_plan *pass,
                             const struct attention_shape *shape, bool backward)
{
    enum status status = STATUS_OK;
    cudnnBackendDescriptor_t engines[ENGINES];
    int64_t count, tried = 0;

    TRY_OUT(attention_graph_build(&pass->graph, attentions->cudnn, attentions->handle, shape,
                                  backward));
    TRY_OUT(list_engines(pass, engines, &count));
    if (count == 0)
        FAIL_OUT(STATUS_UNSUPPORTED, "cuDNN has no engine for it on this GPU");
    do { /* Another engine may compile where one does not. */
        status = plan_of(pass, attentions->handle, engines[tried]);
    } while (status != STATUS_OK && ++tried < count && tried < ENGINES);

out:
    if (status != STATUS_OK)
        status_context("%s pass of fused attention: %d samples, %d heads, %d tokens, width %d, %s",
                       backward ? "backward" : "forward", shape->samples, shape->heads,
                       shape->tokens, shape->width, dtype_name(shape->dtype));
    return status;
}

static void plan_free(struct plan *plan)
{
    if (plan == NULL)
        return;
    for (int i = 0; i < 2; i++)
        if (plan->passes[i].graph.cudnn != NULL)
            attention_graph_release(&plan->passes[i].graph);
    if (plan->query_lengths != NULL && cudaFree(plan->query_lengths) != cudaSuccess)
        (void)cudaGetLastError();
    free(plan);
}

static enum status fill_query_lengths(struct plan *plan)
{
    enum status status = STATUS_OK;
    size_t samples = (size_t)plan->shape.samples;
    int32_t *lengths = malloc(samples * sizeof *lengths);
    cudaStream_t stream = NULL;

    if (lengths == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory for %zu lengths", samples);
    for (size_t i = 0; i < samples; i++) lengths[i] = plan->shape.tokens;
    CUDA_OUT(cudaMalloc((void **)&plan->query_lengths, samples * sizeof *lengths));
    CUDA_OUT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA_OUT(cudaMemcpyAsync(plan->query_lengths, lengths, samples * sizeof *lengths,
                             cudaMemcpyHostToDevice, stream));
    CUDA_OUT(cudaStreamSynchronize(stream));

out:
    if (stream != NULL && cudaStreamDestroy(stream) != cudaSuccess)
        (void)cudaGetLastError();
    free(lengths);
    return status;
}

static enum status plan_make(struct plan **result, struct attentions *attentions,
                             const struct attention_shape *shape)
{
    enum status status = STATUS_OK;
    struct plan *plan = calloc(1, sizeof *plan);
    size_t queries = (size_t)shape->samples * (size_t)shape->heads * (size_t)shape->tokens;

    if (plan == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory for a plan of attention");
    plan->shape = *shape;
    plan->delta_bytes = aligned(queries * sizeof(float));
    plan->dq_sums_bytes = aligned(queries * (size_t)shape->width * sizeof(float));
    if (shape->dtype == DTYPE_F32)
        FAIL_OUT(STATUS_UNSUPPORTED,
                 "cuDNN's fused attention does not take fp32, only bf16 and fp16");
    TRY_OUT(make_pass(attentions, &plan->passes[0], shape, false));
    TRY_OUT(make_pass(attentions, &plan->passes[1], shape, true));
    if (shape->lengths)
        TRY_OUT(fill_query_lengths(plan));
    *result = plan;
    plan = NULL;

out:
    plan_free(plan);
    return status;
}

/* Under the lock. It is called at the first plan, because it loads hundreds of megabytes of
 * libraries. A library that cannot be loaded whole counts as missing. */
static enum status make_handle(struct attentions *attentions)
{
    cudnnStatus_t result;

    if (attentions->handle != NULL)
        return STATUS_OK;
    result = attentions->cudnn->create(&attentions->handle);
    if (result != CUDNN_STATUS_SUCCESS && result < CUDNN_STATUS_BAD_PARAM) /* 1001 .. 1008 */
        FAIL(STATUS_UNSUPPORTED, "cuDNN cannot be used: cudnnCreate failed: %s",
             attentions->cudnn->error_string(result));
    TRY(cudnn_check(attentions->cudnn, result, "cudnnCreate"));

    return STATUS_OK;
}

/* The meaning of a failure to plan, for the caller. An error of the GPU's that stays with the
 * process does not go away by using other kernels; anything else that is wrong is wrong with cuDNN
 * alone. */
static enum status failure_of(enum status status)
{
    struct status_error error = *status_last();
    cudaError_t sticky = cudaDeviceSynchronize();

    if (errors_is_sticky(sticky))
        return errors_check(sticky, "cudaDeviceSynchronize", __FILE__, __LINE__);
    (void)cudaGetLastError();
    if (status == STATUS_DEVICE_ERROR || status == STATUS_DEVICE_OUT_OF_MEMORY)
        error.status = STATUS_UNSUPPORTED;
    return status_raise(&error);
}

static struct plan *plan_find(struct attentions *attentions, const struct attention_shape *shape)
{
    struct plan *plan = attentions->plans;

    while (plan != NULL && !attention_shapes_equal(&plan->shape, shape)) plan = plan->next;
    return plan;
}

enum status cuda_attention_plan(struct device *base, const struct attention_shape *shape,
                                size_t *workspace_bytes)
{
    enum status status = STATUS_OK;
    struct cuda_device *device = (struct cuda_device *)base;
    struct attentions *attentions = device->attentions;
    struct plan *plan;
    size_t forward, backward;

    TRY_OUT(cuda_enter(device));
    TRY_OUT(capture_forbids_thread("device_attention_plan"));
    pthread_mutex_lock(&attentions->lock);
    plan = plan_find(attentions, shape);
    if (plan == NULL) {
        status = make_handle(attentions);
        if (status == STATUS_OK)
            status = plan_make(&plan, attentions, shape);
        if (status != STATUS_OK)
            status = failure_of(status);
        if (status == STATUS_OK) {
            plan->next = attentions->plans;
            attentions->plans = plan;
        }
    }
    pthread_mutex_unlock(&attentions->lock);
    TRY_OUT(status);
    forward = plan->passes[0].workspace_bytes;
    backward = plan->passes[1].workspace_bytes + plan->delta_bytes + plan->dq_sums_bytes;
    *workspace_bytes = forward > backward ? forward : backward;

out:
    return status;
}

/* --- Running --- */

/* The address of each tensor of the graph. */
struct variant_pack {
    int64_t ids[ATTENTION_TENSORS];
    void *addresses[ATTENTION_TENSORS];
    int64_t count;
};

static void pack_add(struct variant_pack *pack, enum attention_tensor id, const void *address)
{
    pack->ids[pack->count] = id;
    pack->addresses[pack->count++] = (void *)(uintptr_t)address;
}

/* `host` holds the scale, one and minus infinity, for as long as cuDNN reads them: until it
 * returns. */
static struct variant_pack pack_of(const struct fused_attention *attention, const struct plan *plan,
                                   const float *host)
{
    struct variant_pack pack = { .count = 0 };
    char *workspace = attention->workspace;

    pack_add(&pack, ATTENTION_Q, attention->q);
    pack_add(&pack, ATTENTION_K, attention->k);
    pack_add(&pack, ATTENTION_V, attention->v);
    pack_add(&pack, ATTENTION_Y, attention->y);
    pack_add(&pack, ATTENTION_STATISTICS, attention->statistics);
    pack_add(&pack, ATTENTION_SCALE, &host[0]);
    if (attention->shape.lengths) {
        pack_add(&pack, ATTENTION_QUERY_LENGTHS, plan->query_lengths);
        pack_add(&pack, ATTENTION_KEY_LENGTHS, attention->lengths);
        pack_add(&pack, ATTENTION_NOTHING, &host[2]);
    }
    if (attention->backward) {
        pack_add(&pack, ATTENTION_ONE, &host[1]);
        pack_add(&pack, ATTENTION_DY, attention->dy);
        pack_add(&pack, ATTENTION_DQ, attention->dq);
        pack_add(&pack, ATTENTION_DK, attention->dk);
        pack_add(&pack, ATTENTION_DV, attention->dv);
        workspace += plan->passes[1].workspace_bytes;
        pack_add(&pack, ATTENTION_DELTA, workspace);
        pack_add(&pack, ATTENTION_DQ_SUMS, workspace + plan->delta_bytes);
    }
    return pack;
}

/* Under the lock. */
static enum status plan_execute(struct attentions *attentions, const struct plan *plan,
                                const struct fused_attention *attention, cudaStream_t stream)
{
    enum status status = STATUS_OK;
    const struct cudnn *cudnn = attentions->cudnn;
    const struct pass_plan *pass = &plan->passes[attention->backward];
    const float host[3] = { attention->scale, 1, -INFINITY };
    struct variant_pack pack = pack_of(attention, plan, host);
    cudnnBackendDescriptor_t variant = NULL;
    void *workspace = attention->workspace;

    TRY_OUT(cudnn_check(cudnn, cudnn->set_stream(attentions->handle, stream), "cudnnSetStream"));
    TRY_OUT(cudnn_check(cudnn,
                        cudnn->descriptor_create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &variant),
                        "cudnnBackendCreateDescriptor"));
    TRY_OUT(cudnn_check(cudnn,
                        cudnn->attribute_set(variant, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
                                             CUDNN_TYPE_INT64, pack.count, pack.ids),
                        "cudnnBackendSetAttribute"));
    TRY_OUT(cudnn_check(cudnn,
                        cudnn->attribute_set(variant, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                                             CUDNN_TYPE_VOID_PTR, pack.count, pack.addresses),
                        "cudnnBackendSetAttribute"));
    TRY_OUT(cudnn_check(cudnn,
                        cudnn->attribute_set(variant, CUDNN_ATTR_VARIANT_PACK_WORKSPACE,
                                             CUDNN_TYPE_VOID_PTR, 1, &workspace),
                        "cudnnBackendSetAttribute"));
    TRY_OUT(cudnn_check(cudnn, cudnn->descriptor_finalize(variant), "cudnnBackendFinalize"));
    TRY_OUT(cudnn_check(cudnn, cudnn->execute(attentions->handle, pass->plan, variant),
                        "cudnnBackendExecute"));

out:
    if (variant != NULL)
        cudnn->descriptor_destroy(variant);
    return status;
}

enum status cuda_attention(struct stream *base, const struct fused_attention *attention)
{
    enum status status = STATUS_OK;
    struct cuda_stream *stream = (struct cuda_stream *)base;
    struct cuda_device *device = (struct cuda_device *)base->device;
    struct attentions *attentions = device->attentions;
    const struct plan *plan;

    TRY_OUT(cuda_enter(device));
    TRY_OUT(capture_allows(&stream->capture, stream->id));
    pthread_mutex_lock(&attentions->lock);
    plan = plan_find(attentions, &attention->shape);
    if (plan != NULL)
        status = plan_execute(attentions, plan, attention, stream->handle);
    pthread_mutex_unlock(&attentions->lock);
    TRY_OUT(status);
    if (plan == NULL)
        FAIL_OUT(STATUS_BAD_USAGE,
                 "device_attention: this shape is not planned; call device_attention_plan() first");

out:
    return status;
}

/* --- Open and close --- */

void attentions_open(struct attentions **result, struct cuda_device *device)
{
    enum status status = STATUS_OK;
    struct device_properties *properties = &device->base.properties;
    const struct cudnn *cudnn;
    struct attentions *attentions = NULL;

    *result = NULL;
    TRY_OUT(cudnn_load(&cudnn));
    attentions = calloc(1, sizeof *attentions);
    if (attentions == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory for cuDNN's handle");
    pthread_mutex_init(&attentions->lock, NULL);
    attentions->cudnn = cudnn;
    size_t version = cudnn->get_version();
    snprintf(properties->attention_library, sizeof properties->attention_library,
             "cuDNN %zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
    properties->attention_cuda = (int)cudnn->get_cuda_version();
    properties->fused_attention = true;
    *result = attentions;
    attentions = NULL;

out:
    if (status != STATUS_OK)
        snprintf(properties->attention_library, sizeof properties->attention_library, "%s",
                 status_last()->text);
    attentions_close(attentions);
}

void attentions_close(struct attentions *attentions)
{
    if (attentions == NULL)
        return;
    while (attentions->plans != NULL) {
        struct plan *plan = attentions->plans;
        attentions->plans = plan->next;
        plan_free(plan);
    }
    if (attentions->handle != NULL)
        attentions->cudnn->destroy(attentions->handle);
    pthread_mutex_destroy(&attentions->lock);
    free(attentions);
}
