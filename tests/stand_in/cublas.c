/* cuBLAS's part of the stand-in: column-major products, one element after the other, in place of
 * loading the library. The handle must have been given a workspace after it was given its stream. */
#include "harness/lab/device/cuda/libraries/cublas.h"

#include "harness/lab/device/cpu/arithmetic/convert.h"
#include "tests/stand_in/stand_in.h"

#include <stdio.h>
#include <stdlib.h>

struct cublasContext {
    cudaStream_t stream;
    void *workspace;
};

static float get(const void *from, long long i, int type)
{
    float value;

    if (type == CUDA_R_32F)
        return ((const float *)from)[i];
    convert_widen(&value, (const uint16_t *)from + i, type == CUDA_R_16BF ? DTYPE_BF16 : DTYPE_F16,
                  1, 1, 1);
    return value;
}

static void put(void *to, long long i, int type, float value)
{
    if (type == CUDA_R_32F)
        ((float *)to)[i] = value;
    else
        convert_narrow((uint16_t *)to + i, &value, type == CUDA_R_16BF ? DTYPE_BF16 : DTYPE_F16, 1,
                       1, 1);
}

/* [count, k] floats: op(matrix)'s rows, or its columns, one after the other. */
static float *gather(const void *matrix, int type, int count, int k, long long per_count,
                     long long per_k)
{
    float *floats = malloc((size_t)count * (size_t)k * sizeof *floats);

    if (floats == NULL)
        abort();
    for (int i = 0; i < count; i++)
        for (int j = 0; j < k; j++)
            floats[(long long)i * k + j] = get(matrix, i * per_count + j * per_k, type);
    return floats;
}

static const void *at(const void *matrix, long long elements, int type)
{
    return (const char *)matrix + elements * (type == CUDA_R_32F ? 4 : 2);
}

/* A matrix of zeros is what the device is kept busy with: a GPU does that in no time. */
static bool is_zero(const float *values, long long count)
{
    long long i = 0;

    while (i < count && values[i] == 0) i++;
    return i == count;
}

static cudaError_t run_product(struct operation *operation)
{
    int m = operation->product.m, n = operation->product.n, k = operation->product.k;
    int type = operation->product.type, type_c = operation->product.type_c;
    long long ld_first = operation->product.ld_first, ld_second = operation->product.ld_second;
    bool transposed_first = operation->product.transpose_first;
    bool transposed_second = operation->product.transpose_second;

    for (int batch = 0; batch < operation->product.batch; batch++) {
        float *rows =
            gather(at(operation->product.first, batch * operation->product.stride_first, type),
                   type, m, k, transposed_first ? ld_first : 1, transposed_first ? 1 : ld_first);
        float *columns = gather(
            at(operation->product.second, batch * operation->product.stride_second, type), type, n,
            k, transposed_second ? 1 : ld_second, transposed_second ? ld_second : 1);
        int terms = is_zero(rows, (long long)m * k) ? 0 : k;

        for (int column = 0; column < n; column++)
            for (int row = 0; row < m; row++) {
                const float *x = rows + (long long)row * k, *y = columns + (long long)column * k;
                long long c = batch * operation->product.stride_c + row +
                              (long long)column * operation->product.ld_c;
                float sum = 0;
                for (int i = 0; i < terms; i++) sum += x[i] * y[i];
                if (operation->product.beta != 0)
                    sum += get(operation->product.c, c, type_c);
                put(operation->product.c, c, type_c, sum);
            }
        free(rows);
        free(columns);
    }
    return cudaSuccess;
}

static cublasStatus_t gemm_batched(cublasHandle_t handle, cublasOperation_t op_first,
                                   cublasOperation_t op_second, int m, int n, int k,
                                   const void *alpha, const void *first, cudaDataType type_first,
                                   int ld_first, long long stride_first, const void *second,
                                   cudaDataType type_second, int ld_second, long long stride_second,
                                   const void *beta, void *c, cudaDataType type_c, int ld_c,
                                   long long stride_c, int batch, cublasComputeType_t compute,
                                   cublasGemmAlgo_t algorithm)
{
    struct operation operation = { .run = run_product };
    struct stand_in_call call;
    cudaError_t error;

    (void)algorithm;
    if (*(const float *)alpha != 1 || type_first != type_second || handle->workspace == NULL ||
        (compute != CUBLAS_COMPUTE_32F && compute != CUBLAS_COMPUTE_32F_FAST_TF32) ||
        ld_first < (op_first == CUBLAS_OP_N ? m : k) ||
        ld_second < (op_second == CUBLAS_OP_N ? k : n) || ld_c < m)
        return CUBLAS_STATUS_INVALID_VALUE;
    operation.product.first = first;
    operation.product.second = second;
    operation.product.c = c;
    operation.product.m = m;
    operation.product.n = n;
    operation.product.k = k;
    operation.product.batch = batch;
    operation.product.ld_first = ld_first;
    operation.product.ld_second = ld_second;
    operation.product.ld_c = ld_c;
    operation.product.type = (int)type_first;
    operation.product.type_c = (int)type_c;
    operation.product.stride_first = stride_first;
    operation.product.stride_second = stride_second;
    operation.product.stride_c = stride_c;
    operation.product.transpose_first = op_first == CUBLAS_OP_T;
    operation.product.transpose_second = op_second == CUBLAS_OP_T;
    operation.product.beta = *(const float *)beta;
    operation.work = (struct stand_in_work){
        .kind = STAND_IN_KERNEL, .name = "_Z4gemmIfEvPT_", .grid = (unsigned)batch, .block = 128
    };
    call = stand_in_begin("cuLaunchKernel", true); /* as newer cuBLAS launches, past the runtime */
    error = stand_in_submit(handle->stream, &operation);
    stand_in_end(&call);
    return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

static cublasStatus_t gemm(cublasHandle_t handle, cublasOperation_t op_first,
                           cublasOperation_t op_second, int m, int n, int k, const void *alpha,
                           const void *first, cudaDataType type_first, int ld_first,
                           const void *second, cudaDataType type_second, int ld_second,
                           const void *beta, void *c, cudaDataType type_c, int ld_c,
                           cublasComputeType_t compute, cublasGemmAlgo_t algorithm)
{
    return gemm_batched(handle, op_first, op_second, m, n, k, alpha, first, type_first, ld_first, 0,
                        second, type_second, ld_second, 0, beta, c, type_c, ld_c, 0, 1, compute,
                        algorithm);
}

static cublasStatus_t create(cublasHandle_t *handle)
{
    *handle = calloc(1, sizeof **handle);
    return *handle != NULL ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

static cublasStatus_t destroy(cublasHandle_t handle)
{
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t set_stream(cublasHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    handle->workspace = NULL; /* back to cuBLAS's own, which a capture must not meet */
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t set_workspace(cublasHandle_t handle, void *workspace, size_t bytes)
{
    (void)bytes;
    handle->workspace = workspace;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t set_math_mode(cublasHandle_t handle, cublasMath_t mode)
{
    (void)handle;
    return mode & CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION ? CUBLAS_STATUS_SUCCESS
                                                                   : CUBLAS_STATUS_INVALID_VALUE;
}

static const struct cublas stand_in = {
    .create = create,
    .destroy = destroy,
    .set_stream = set_stream,
    .set_workspace = set_workspace,
    .set_math_mode = set_math_mode,
    .gemm = gemm,
    .gemm_batched = gemm_batched,
};

enum status cublas_load(const struct cublas **cublas)
{
    *cublas = &stand_in;
    return STATUS_OK;
}

void cublas_version(const struct cublas *cublas, char *text, size_t size)
{
    (void)cublas;
    snprintf(text, size, "stand-in for cuBLAS");
}

enum status cublas_check(const struct cublas *cublas, cublasStatus_t result, const char *call)
{
    (void)cublas;
    return result == CUBLAS_STATUS_SUCCESS
               ? STATUS_OK
               : status_fail(STATUS_DEVICE_ERROR, __FILE__, __LINE__, "%s: %d", call, (int)result);
}
