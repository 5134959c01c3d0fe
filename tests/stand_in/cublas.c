/* cuBLAS's part of the stand-in: column-major products, which oneDNN computes in fp32 and a plain
 * loop in fp64, in place of loading the library. The handle must have been given a workspace after
 * it was given its stream.
 * Epilogues (cublaslt.c) are computed from the sums in fp32. */
#include "harness/device/cuda/libraries/cublas.h"

#include "harness/device/cpu/arithmetic/convert.h"
#include "tests/stand_in/stand_in.h"

#include <dnnl.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cublasContext {
    cudaStream_t stream;
    void *workspace;
};

static enum dtype dtype_of(int type)
{
    return type == CUDA_R_32F ? DTYPE_F32 : type == CUDA_R_16BF ? DTYPE_BF16 : DTYPE_F16;
}

static long long bytes_of(int type)
{
    return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

static void *at(const void *matrix, long long elements, int type)
{
    return (char *)(uintptr_t)matrix + elements * bytes_of(type);
}

/* [columns, rows] floats without gaps of a matrix that is stored by columns; `memory` is to be
 * freed. A matrix in fp32 is taken as it is, and *ld stays. */
static float *floats_of(void *matrix, int type, long rows, long columns, int *ld, float **memory)
{
    *memory = NULL;
    if (type == CUDA_R_32F)
        return matrix;
    *memory = malloc((size_t)(rows * columns) * sizeof **memory);
    if (*memory == NULL)
        abort();
    convert_widen(*memory, matrix, dtype_of(type), columns, rows, *ld);
    *ld = (int)rows;
    return *memory;
}

/* A matrix of zeros is what the device is kept busy with: a GPU does that in no time. */
static bool is_zero(const float *values, long rows, long columns, int ld)
{
    for (long column = 0; column < columns; column++)
        for (long row = 0; row < rows; row++)
            if (values[column * ld + row] != 0)
                return false;
    return true;
}

static void multiply_doubles(const struct operation *operation, const double *first,
                             const double *second, double *c)
{
    int ld_first = operation->product.ld_first, ld_second = operation->product.ld_second;
    int m = operation->product.m, k = operation->product.k;

    for (int column = 0; column < operation->product.n; column++)
        for (int row = 0; row < m; row++) {
            double *sum = &c[(long)column * operation->product.ld_c + row];
            *sum = operation->product.beta == 0 ? 0 : *sum;
            for (int i = 0; i < k; i++)
                *sum += first[operation->product.transpose_first ? (long)row * ld_first + i
                                                                 : (long)i * ld_first + row] *
                        second[operation->product.transpose_second ? (long)i * ld_second + column
                                                                   : (long)column * ld_second + i];
        }
}

/* The tanh form, as PyTorch has it, in fp64; or its derivative. */
static float gelu(float value, bool slope)
{
    double x = (double)value, inner = sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x);
    double inner_slope = sqrt(2 / acos(-1)) * (1 + 3 * 0.044715 * x * x), t = tanh(inner);

    return (float)(slope ? (1 + t) / 2 + x / 2 * (1 - t * t) * inner_slope : x / 2 * (1 + t));
}

/* `count` numbers from `from` on, to or from floats. */
static void convert(bool store, float *floats, void *from, int type, long count)
{
    if (type == CUDA_R_32F)
        memcpy(store ? from : (void *)floats, store ? (void *)floats : from,
               (size_t)count * sizeof *floats);
    else if (store)
        convert_narrow(from, floats, dtype_of(type), 1, count, count);
    else
        convert_widen(floats, from, dtype_of(type), 1, count, count);
}

/* A column of c, whose bias runs along it. */
static void finish_column(const struct operation *operation, float *sums, const float *bias,
                          void *aux)
{
    int m = operation->product.m, type = operation->product.type_c;
    int epilogue = operation->product.epilogue;
    float *inputs = malloc((size_t)m * sizeof *inputs);

    if (inputs == NULL)
        abort();
    if (epilogue & CUBLASLT_EPILOGUE_BIAS)
        for (int i = 0; i < m; i++) sums[i] += bias[i];
    if (epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS) {
        convert(true, sums, aux, type, m);
        for (int i = 0; i < m; i++) sums[i] = gelu(sums[i], false);
    } else if (epilogue == CUBLASLT_EPILOGUE_DGELU) {
        convert(false, inputs, aux, type, m);
        for (int i = 0; i < m; i++) sums[i] *= gelu(inputs[i], true);
    }
    free(inputs);
}

/* `first` is [m, k], not transposed, in floats. */
static void finish(const struct operation *operation, const float *first, int ld_first, float *sums,
                   int ld_c)
{
    int m = operation->product.m, type = operation->product.type_c;
    float *bias = calloc((size_t)m, sizeof *bias);
    void *aux = operation->product.aux;

    if (bias == NULL)
        abort();
    if (operation->product.epilogue & CUBLASLT_EPILOGUE_BIAS)
        convert(false, bias, operation->product.bias, type, m);
    for (long column = 0; column < operation->product.n; column++)
        finish_column(operation, sums + column * ld_c, bias,
                      aux != NULL ? at(aux, column * operation->product.ld_aux, type) : NULL);
    if (operation->product.epilogue == CUBLASLT_EPILOGUE_BGRADA) {
        for (long i = 0; i < operation->product.k; i++)
            for (int row = 0; row < m; row++) bias[row] += first[i * ld_first + row];
        convert(true, bias, operation->product.bias, type, m);
    }
    free(bias);
}

/* By columns, c = a b is what c' = b' a' is by rows, which oneDNN multiplies. */
static void multiply(const struct operation *operation, void *first, void *second, void *c)
{
    int m = operation->product.m, n = operation->product.n, k = operation->product.k;
    int type = operation->product.type, ld_first = operation->product.ld_first;
    int ld_second = operation->product.ld_second, ld_c = operation->product.ld_c;
    bool turned_first = operation->product.transpose_first;
    bool turned_second = operation->product.transpose_second;
    float *memory[3], *a, *b, *sums;
    long rows = turned_first ? k : m, columns = turned_first ? m : k;

    a = floats_of(first, type, rows, columns, &ld_first, &memory[0]);
    b = floats_of(second, type, turned_second ? n : k, turned_second ? k : n, &ld_second,
                  &memory[1]);
    sums = floats_of(c, operation->product.type_c, m, n, &ld_c, &memory[2]);
    if (!is_zero(a, rows, columns, ld_first))
        dnnl_sgemm(turned_second ? 'T' : 'N', turned_first ? 'T' : 'N', n, m, k, 1, b, ld_second, a,
                   ld_first, operation->product.beta, sums, ld_c);
    else if (operation->product.beta == 0)
        for (long column = 0; column < n; column++)
            memset(sums + column * ld_c, 0, (size_t)m * sizeof *sums);
    if (operation->product.epilogue != 0)
        finish(operation, a, ld_first, sums, ld_c);
    if (memory[2] != NULL)
        convert_narrow(c, sums, dtype_of(operation->product.type_c), n, m, operation->product.ld_c);
    for (int i = 0; i < 3; i++) free(memory[i]);
}

/* Uses a matrix that is stored by columns. */
static cudaError_t use_matrix(const struct operation *operation, const void *matrix, int type,
                              int rows, int columns, int ld, bool store)
{
    size_t bytes = (size_t)bytes_of(type);
    cudaError_t error = cudaSuccess;

    if (ld == rows)
        return stand_in_use(operation, matrix, (size_t)rows * (size_t)columns * bytes, store);
    for (int column = 0; column < columns && error == cudaSuccess; column++)
        error = stand_in_use(operation, at(matrix, (long long)column * ld, type),
                             (size_t)rows * bytes, store);
    return error;
}

static cudaError_t use_all(const struct operation *operation, const void *first, const void *second,
                           const void *c)
{
    int m = operation->product.m, n = operation->product.n, k = operation->product.k;
    int type = operation->product.type, type_c = operation->product.type_c;
    bool turned_first = operation->product.transpose_first;
    bool turned_second = operation->product.transpose_second;
    cudaError_t error = use_matrix(operation, first, type, turned_first ? k : m,
                                   turned_first ? m : k, operation->product.ld_first, false);

    if (error == cudaSuccess)
        error = use_matrix(operation, second, type, turned_second ? n : k, turned_second ? k : n,
                           operation->product.ld_second, false);
    if (error == cudaSuccess)
        error = use_matrix(operation, c, type_c, m, n, operation->product.ld_c, true);
    if (error == cudaSuccess && operation->product.bias != NULL)
        error = stand_in_use(operation, operation->product.bias, (size_t)m * (size_t)bytes_of(type),
                             operation->product.epilogue == CUBLASLT_EPILOGUE_BGRADA);
    if (error == cudaSuccess && operation->product.aux != NULL)
        error = use_matrix(operation, operation->product.aux, type_c, m, n,
                           (int)operation->product.ld_aux,
                           operation->product.epilogue != CUBLASLT_EPILOGUE_DGELU);
    return error;
}

static cudaError_t run_product(struct operation *operation)
{
    int type = operation->product.type, type_c = operation->product.type_c;
    cudaError_t error = cudaSuccess;
    static _Thread_local bool alone;

    if (!alone) /* a thread of OpenMP per stream, or their barriers spin */
        omp_set_num_threads(1);
    alone = true;
    for (int batch = 0; batch < operation->product.batch && error == cudaSuccess; batch++) {
        void *first = at(operation->product.first, batch * operation->product.stride_first, type);
        void *second =
            at(operation->product.second, batch * operation->product.stride_second, type);
        void *c = at(operation->product.c, batch * operation->product.stride_c, type_c);
        error = use_all(operation, first, second, c);
        if (error == cudaSuccess && type == CUDA_R_64F)
            multiply_doubles(operation, first, second, c);
        else if (error == cudaSuccess)
            multiply(operation, first, second, c);
    }
    return error;
}

cublasStatus_t stand_in_multiply(cudaStream_t stream, struct operation *operation, const char *name)
{
    struct stand_in_call call;
    cudaError_t error;

    operation->run = run_product;
    operation->work = (struct stand_in_work){ .kind = STAND_IN_KERNEL,
                                              .name = name,
                                              .grid = (unsigned)operation->product.batch,
                                              .block = 128 };
    call = stand_in_begin("cuLaunchKernel", true); /* as newer cuBLAS launches, past the runtime */
    error = stand_in_submit(stream, operation);
    stand_in_end(&call);
    return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
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
    struct operation operation = { 0 };
    bool wide = type_first == CUDA_R_64F; /* and with it what alpha and beta point to */

    (void)algorithm;
    if ((wide ? *(const double *)alpha : (double)*(const float *)alpha) != 1 ||
        type_first != type_second || handle->workspace == NULL ||
        wide != (compute == CUBLAS_COMPUTE_64F) || wide != (type_c == CUDA_R_64F) ||
        (!wide && compute != CUBLAS_COMPUTE_32F && compute != CUBLAS_COMPUTE_32F_FAST_TF32) ||
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
    operation.product.beta = wide ? (float)*(const double *)beta : *(const float *)beta;
    return stand_in_multiply(handle->stream, &operation,
                             wide ? "_Z4gemmIdEvPT_" : "_Z4gemmIfEvPT_");
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
