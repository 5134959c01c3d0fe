/* Matrix products by cuBLAS. One handle of cuBLAS for the device, used under a lock, and a
 * workspace of ours for every stream and every graph: so cuBLAS allocates nothing, not even in a
 * capture. A graph has its own workspace because it may be launched on another stream while
 * products run on the one it was captured from.
 *
 * Setting a handle's stream takes its workspace away ("cuBLAS Library", cublasSetStream), so both
 * are set whenever either changes.
 *
 * Sums are in fp32 all the way: by default cuBLAS may add the parts of a split k in the 16-bit type
 * of c, which the math mode forbids here.
 *
 * Products with an epilogue are cuBLASLt's, in the same workspaces. It is loaded for the first of
 * them: a device that is asked for none does not need it. */
#include "harness/device/cuda/cuda_gemm.h"

#include "harness/device/cuda/libraries/cublas.h"
#include "harness/device/cuda/libraries/epilogue_plans.h"
#include "harness/device/cuda/libraries/gemm_swap.h"

#include <stdlib.h>

struct cuda_gemms {
    struct cuda_device *device;
    const struct cublas *cublas;
    size_t workspace_bytes;

    pthread_mutex_t lock; /* of the handle and what is set in it */
    cublasHandle_t handle;
    cudaStream_t stream;
    void *workspace;
    struct retired *retired;
    struct epilogue_plans *plans; /* NULL: no epilogue was asked for yet */
};

/* A workspace that work still queued on a stream may use. */
struct retired {
    void *workspace;
    uint32_t stream;
    struct retired *next;
};

enum status gemm_workspace_open(struct cuda_gemms *gemms, void **workspace)
{
    cudaError_t error = cudaMalloc(workspace, gemms->workspace_bytes);

    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        FAIL(STATUS_DEVICE_OUT_OF_MEMORY,
             "out of device memory: no %zu bytes for the workspace of a stream's matrix products; "
             "leave the GPU some room beyond --device-memory",
             gemms->workspace_bytes);
    }
    CUDA(error);

    return STATUS_OK;
}

void gemm_workspace_close(struct cuda_gemms *gemms, void *workspace)
{
    if (workspace == NULL)
        return;
    pthread_mutex_lock(&gemms->lock);
    if (gemms->workspace == workspace)
        gemms->workspace = NULL; /* Another stream may get its address. */
    pthread_mutex_unlock(&gemms->lock);
    if (cudaFree(workspace) != cudaSuccess)
        (void)cudaGetLastError();
}

/* Captures that follow each other while another stream is busy would fill the GPU with workspaces,
 * if none were used again. */
enum status gemm_workspace_take(struct cuda_gemms *gemms, void **workspace)
{
    struct retired *taken = NULL;

    pthread_mutex_lock(&gemms->lock);
    for (struct retired **link = &gemms->retired; *link != NULL && taken == NULL;)
        if (stream_is_idle(gemms->device, (*link)->stream)) {
            taken = *link;
            *link = taken->next;
        } else {
            link = &(*link)->next;
        }
    pthread_mutex_unlock(&gemms->lock);
    if (taken == NULL)
        return gemm_workspace_open(gemms, workspace);
    *workspace = taken->workspace;
    free(taken);
    return STATUS_OK;
}

void gemm_workspace_retire(struct cuda_gemms *gemms, void *workspace, uint32_t stream)
{
    struct retired *retired = NULL;

    if (workspace != NULL && !stream_all_idle(gemms->device))
        retired = malloc(sizeof *retired);
    if (retired == NULL) { /* nothing to wait for, or no memory to remember it in */
        gemm_workspace_close(gemms, workspace);
        return;
    }
    retired->workspace = workspace;
    retired->stream = stream;
    pthread_mutex_lock(&gemms->lock);
    retired->next = gemms->retired;
    gemms->retired = retired;
    pthread_mutex_unlock(&gemms->lock);
}

void gemm_retired_close(struct cuda_gemms *gemms)
{
    struct retired *retired;

    pthread_mutex_lock(&gemms->lock);
    retired = gemms->retired;
    gemms->retired = NULL;
    pthread_mutex_unlock(&gemms->lock);
    while (retired != NULL) {
        struct retired *next = retired->next;
        gemm_workspace_close(gemms, retired->workspace);
        free(retired);
        retired = next;
    }
}

void gemm_forget_stream(struct cuda_gemms *gemms, struct cuda_stream *stream)
{
    if (gemms == NULL)
        return;
    gemm_workspace_retire(gemms, atomic_exchange(&stream->workspace, NULL), stream->id);
}

/* The workspace for the next product on the stream, made when it is first needed. */
static enum status workspace_of(struct cuda_gemms *gemms, struct cuda_stream *stream,
                                void **workspace)
{
    enum status status = STATUS_OK;
    struct relaxed relaxed = { false, cudaStreamCaptureModeRelaxed };
    void *expected = NULL, *made = NULL;

    *workspace = cuda_capture_workspace(stream);
    if (*workspace == NULL)
        *workspace = atomic_load(&stream->workspace);
    if (*workspace != NULL)
        return STATUS_OK;
    relaxed = cuda_capture_relax();
    TRY_OUT(gemm_workspace_open(gemms, &made));
    if (atomic_compare_exchange_strong(&stream->workspace, &expected, made)) {
        *workspace = made;
    } else { /* Another thread was faster. */
        *workspace = expected;
        gemm_workspace_close(gemms, made);
    }

out:
    cuda_capture_restore(relaxed);
    return status;
}

/* Under the lock. */
static enum status aim(struct cuda_gemms *gemms, cudaStream_t stream, void *workspace)
{
    const struct cublas *cublas = gemms->cublas;

    if (gemms->stream == stream && gemms->workspace == workspace)
        return STATUS_OK;
    gemms->workspace = NULL; /* unknown, until both calls are through */
    TRY(cublas_check(cublas, cublas->set_stream(gemms->handle, stream), "cublasSetStream"));
    TRY(cublas_check(cublas,
                     cublas->set_workspace(gemms->handle, workspace, gemms->workspace_bytes),
                     "cublasSetWorkspace"));
    gemms->stream = stream;
    gemms->workspace = workspace;

    return STATUS_OK;
}

/* --- Products --- */

/* Under the lock. The handle takes its factors from the host and at once, in the type of sums. */
static cublasStatus_t multiply(struct cuda_gemms *gemms, const struct gemm *gemm)
{
    const struct cublas *cublas = gemms->cublas;
    struct column_product p = gemm_swap(gemm);
    const bool wide = gemm->dtype_ab == DTYPE_F64;
    const float ones[] = { 0, 1 };
    const double wide_ones[] = { 0, 1 };
    const void *one = wide ? (const void *)&wide_ones[1] : &ones[1];
    const void *beta = gemm->accumulate ? one : wide ? (const void *)wide_ones : ones;
    cublasOperation_t op_first = p.transpose_first ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t op_second = p.transpose_second ? CUBLAS_OP_T : CUBLAS_OP_N;

    if (p.batch == 1)
        return cublas->gemm(gemms->handle, op_first, op_second, p.m, p.n, p.k, one, p.first, p.type,
                            p.ld_first, p.second, p.type, p.ld_second, beta, p.c, p.type_c, p.ld_c,
                            p.compute, CUBLAS_GEMM_DEFAULT);
    return cublas->gemm_batched(gemms->handle, op_first, op_second, p.m, p.n, p.k, one, p.first,
                                p.type, p.ld_first, p.stride_first, p.second, p.type, p.ld_second,
                                p.stride_second, beta, p.c, p.type_c, p.ld_c, p.stride_c, p.batch,
                                p.compute, CUBLAS_GEMM_DEFAULT);
}

/* Under the lock. */
static enum status plan_of(struct cuda_gemms *gemms, const struct gemm *gemm,
                           const struct epilogue_plan **plan)
{
    enum status status = STATUS_OK;
    struct relaxed relaxed = cuda_capture_relax(); /* cuBLASLt may allocate when it begins. */

    if (gemms->plans == NULL)
        TRY_OUT(epilogue_plans_open(&gemms->plans, gemms->cublas, gemms->workspace_bytes));
    TRY_OUT(epilogue_plans_find(gemms->plans, gemm, plan));

out:
    cuda_capture_restore(relaxed);
    return status;
}

/* Under the lock. The call's own result comes in *result. */
static enum status queue(struct cuda_gemms *gemms, const struct cuda_stream *stream,
                         const struct gemm *gemm, void *workspace, cublasStatus_t *result)
{
    const struct epilogue_plan *plan;

    if (gemm->epilogue == EPILOGUE_NONE) {
        TRY(aim(gemms, stream->handle, workspace));
        *result = multiply(gemms, gemm);
    } else {
        TRY(plan_of(gemms, gemm, &plan));
        TRY(epilogue_plans_multiply(gemms->plans, plan, gemm, workspace, stream->handle, result));
    }

    return STATUS_OK;
}

/* cuBLAS says only that it failed; if the reason is an earlier kernel, CUDA knows it. */
static enum status explain(const struct cuda_gemms *gemms, const struct cuda_stream *stream,
                           const struct gemm *gemm, cublasStatus_t result)
{
    enum status status = STATUS_OK;
    const char *call = gemm->epilogue != EPILOGUE_NONE ? "cublasLtMatmul"
                       : gemm->batch == 1              ? "cublasGemmEx"
                                                       : "cublasGemmStridedBatchedEx";
    cudaError_t error;

    if (result == CUBLAS_STATUS_SUCCESS)
        return STATUS_OK;
    error = atomic_load(&stream->capture) == NULL ? cudaStreamQuery(stream->handle) : cudaSuccess;
    if (errors_is_sticky(error))
        return errors_check(error, call, __FILE__, __LINE__);
    (void)cudaGetLastError();
    TRY_OUT(cublas_check(gemms->cublas, result, call));

out:
    status_context("gemm %d x %d x %d, batch %d, %s to %s", gemm->m, gemm->n, gemm->k, gemm->batch,
                   dtype_name(gemm->dtype_ab), dtype_name(gemm->dtype_c));
    return status;
}

enum status cuda_gemm(struct stream *base, const struct gemm *gemm)
{
    enum status status = STATUS_OK;
    struct cuda_stream *stream = (struct cuda_stream *)base;
    struct cuda_device *device = (struct cuda_device *)base->device;
    struct cuda_gemms *gemms = device->gemms;
    cublasStatus_t result = CUBLAS_STATUS_SUCCESS;
    void *workspace;

    TRY_OUT(cuda_enter(device));
    TRY_OUT(capture_allows(&stream->capture, stream->id));
    TRY_OUT(workspace_of(gemms, stream, &workspace));
    pthread_mutex_lock(&gemms->lock);
    status = queue(gemms, stream, gemm, workspace, &result);
    pthread_mutex_unlock(&gemms->lock);
    if (status == STATUS_OK)
        TRY_OUT(explain(gemms, stream, gemm, result));

out:
    return status;
}

/* --- Open and close --- */

enum status cuda_gemms_open(struct cuda_gemms **result, struct cuda_device *device)
{
    struct device_properties *properties = &device->base.properties;
    struct cuda_gemms *gemms = calloc(1, sizeof *gemms);
    const struct cublas *cublas;

    *result = gemms;
    if (gemms == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no host memory for cuBLAS's handle (%zu bytes)", sizeof *gemms);
    pthread_mutex_init(&gemms->lock, NULL);
    gemms->device = device;
    /* "cuBLAS Library", cublasSetWorkspace: the recommended sizes, for Hopper and newer and for
     * older GPUs. */
    gemms->workspace_bytes = (size_t)(properties->compute_capability >= 90 ? 32 : 4) << 20;
    TRY(cublas_load(&cublas));
    gemms->cublas = cublas;
    cublas_version(cublas, properties->gemm_library, sizeof properties->gemm_library);
    properties->gemm_epilogues = true;
    TRY(cublas_check(cublas, cublas->create(&gemms->handle), "cublasCreate"));
    TRY(cublas_check(
        cublas,
        cublas->set_math_mode(
            gemms->handle,
            (cublasMath_t)(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)),
        "cublasSetMathMode"));

    return STATUS_OK;
}

void cuda_gemms_close(struct cuda_gemms *gemms)
{
    if (gemms == NULL)
        return;
    gemm_retired_close(gemms);
    epilogue_plans_close(gemms->plans);
    if (gemms->handle != NULL)
        gemms->cublas->destroy(gemms->handle);
    pthread_mutex_destroy(&gemms->lock);
    free(gemms);
}
