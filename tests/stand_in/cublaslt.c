/* cuBLASLt's part of the stand-in: what describes a product, checked by the words of its header,
 * and a heuristic that has one kernel for each epilogue which we ask for, if sizes and addresses
 * are as the header wants them.
 *
 * STAND_IN_EPILOGUES=none: it has no kernel; absent: there is no cuBLASLt. */
#include "harness/device/cuda/libraries/cublas.h"

#include "tests/stand_in/stand_in.h"

#include <stdlib.h>
#include <string.h>

/* Each description is one of these; its type is opaque. */
struct lt_layout {
    cudaDataType_t type;
    uint64_t rows, columns;
    int64_t ld;
};
struct lt_operation {
    cublasComputeType_t compute;
    int32_t op_first, op_second;
    uint32_t epilogue;
    void *bias, *aux;
    int64_t ld_aux;
};
struct lt_preference {
    uint64_t workspace_bytes;
    uint32_t reductions, alignment[4];
};

static cublasStatus_t made(void **description, size_t bytes)
{
    *description = calloc(1, bytes);
    return *description != NULL ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

static cublasStatus_t put(void *to, size_t room, const void *value, size_t bytes)
{
    if (bytes != room)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

/* Memory of its own on the GPU, so a capture must be relaxed around it. */
static cublasStatus_t lt_create(cublasLtHandle_t *handle)
{
    void *memory;

    if (cudaMalloc(&memory, 1 << 10) != cudaSuccess)
        return CUBLAS_STATUS_ALLOC_FAILED;
    *handle = memory;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t lt_destroy(cublasLtHandle_t handle)
{
    return cudaFree(handle) == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INTERNAL_ERROR;
}

static cublasStatus_t operation_create(cublasLtMatmulDesc_t *operation, cublasComputeType_t compute,
                                       cudaDataType_t scale)
{
    cublasStatus_t result = made((void **)operation, sizeof(struct lt_operation));

    if (result == CUBLAS_STATUS_SUCCESS)
        *(struct lt_operation *)*operation =
            (struct lt_operation){ .compute = compute, .epilogue = CUBLASLT_EPILOGUE_DEFAULT };
    return scale == CUDA_R_32F ? result : CUBLAS_STATUS_INVALID_VALUE;
}

static cublasStatus_t operation_set(cublasLtMatmulDesc_t described,
                                    cublasLtMatmulDescAttributes_t attribute, const void *value,
                                    size_t bytes)
{
    struct lt_operation *operation = (struct lt_operation *)described;

    switch ((int)attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
        return put(&operation->op_first, sizeof operation->op_first, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
        return put(&operation->op_second, sizeof operation->op_second, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
        return put(&operation->epilogue, sizeof operation->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
        return put(&operation->bias, sizeof operation->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
        return put(&operation->aux, sizeof operation->aux, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
        return put(&operation->ld_aux, sizeof operation->ld_aux, value, bytes);
    default:
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
}

static cublasStatus_t operation_destroy(cublasLtMatmulDesc_t operation)
{
    free(operation);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t layout_create(cublasLtMatrixLayout_t *layout, cudaDataType type,
                                    uint64_t rows, uint64_t columns, int64_t ld)
{
    cublasStatus_t result = made((void **)layout, sizeof(struct lt_layout));

    if (result == CUBLAS_STATUS_SUCCESS)
        *(struct lt_layout *)*layout = (struct lt_layout){ type, rows, columns, ld };
    return result;
}

static cublasStatus_t layout_destroy(cublasLtMatrixLayout_t layout)
{
    free(layout);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t preference_create(cublasLtMatmulPreference_t *preference)
{
    return made((void **)preference, sizeof(struct lt_preference));
}

static cublasStatus_t preference_set(cublasLtMatmulPreference_t described,
                                     cublasLtMatmulPreferenceAttributes_t attribute,
                                     const void *value, size_t bytes)
{
    struct lt_preference *preference = (struct lt_preference *)described;

    if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
        return put(&preference->workspace_bytes, sizeof preference->workspace_bytes, value, bytes);
    if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
        return put(&preference->reductions, sizeof preference->reductions, value, bytes);
    if (attribute < CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES ||
        attribute > CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return put(&preference->alignment[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES],
               sizeof *preference->alignment, value, bytes);
}

static cublasStatus_t preference_destroy(cublasLtMatmulPreference_t preference)
{
    free(preference);
    return CUBLAS_STATUS_SUCCESS;
}

/* Describes the product, and checks it. */
static cublasStatus_t describe(struct operation *result, const struct lt_operation *operation,
                               const struct lt_layout *first, const struct lt_layout *second,
                               const struct lt_layout *c)
{
    bool turned_first = operation->op_first == CUBLAS_OP_T;
    bool turned_second = operation->op_second == CUBLAS_OP_T;
    uint64_t k = turned_first ? first->rows : first->columns;

    if (first->type != second->type || (turned_first ? first->columns : first->rows) != c->rows ||
        (turned_second ? second->columns : second->rows) != k ||
        (turned_second ? second->rows : second->columns) != c->columns ||
        first->ld < (int64_t)first->rows || second->ld < (int64_t)second->rows ||
        c->ld < (int64_t)c->rows)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (c->type != first->type || c->type == CUDA_R_64F ||
        (operation->compute != CUBLAS_COMPUTE_32F &&
         operation->compute != CUBLAS_COMPUTE_32F_FAST_TF32))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    result->product.m = (int)c->rows;
    result->product.n = (int)c->columns;
    result->product.k = (int)k;
    result->product.batch = 1;
    result->product.ld_first = (int)first->ld;
    result->product.ld_second = (int)second->ld;
    result->product.ld_c = (int)c->ld;
    result->product.type = (int)first->type;
    result->product.type_c = (int)c->type;
    result->product.transpose_first = turned_first;
    result->product.transpose_second = turned_second;
    result->product.epilogue = (int)operation->epilogue;
    result->product.bias = operation->bias;
    result->product.aux = operation->aux;
    result->product.ld_aux = operation->ld_aux;
    return CUBLAS_STATUS_SUCCESS;
}

/* Each epilogue wants this by the header. BGRADA is only here for a first factor that is stored as
 * it is multiplied. */
static cublasStatus_t check_epilogue(const struct operation *operation)
{
    int epilogue = operation->product.epilogue;
    bool wants_aux =
        epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS || epilogue == CUBLASLT_EPILOGUE_DGELU;

    if (epilogue != CUBLASLT_EPILOGUE_BIAS && epilogue != CUBLASLT_EPILOGUE_BGRADA && !wants_aux)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if ((operation->product.bias == NULL) != (epilogue == CUBLASLT_EPILOGUE_DGELU) ||
        (operation->product.aux == NULL) == wants_aux)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (epilogue == CUBLASLT_EPILOGUE_BGRADA && operation->product.transpose_first)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (wants_aux &&
        (operation->product.ld_aux % 8 != 0 || operation->product.ld_aux < operation->product.m))
        return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

static const char *told(void)
{
    const char *text = getenv("STAND_IN_EPILOGUES");

    return text != NULL ? text : "";
}

/* Its kernels load 16 bytes at a time; the algorithm notes for what epilogue it is. */
static cublasStatus_t heuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                cublasLtMatrixLayout_t first, cublasLtMatrixLayout_t second,
                                cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                cublasLtMatmulPreference_t wanted, int room,
                                cublasLtMatmulHeuristicResult_t results[], int *count)
{
    const struct lt_preference *preference = (const struct lt_preference *)wanted;
    struct operation product = { 0 };
    cublasStatus_t status =
        describe(&product, (struct lt_operation *)operation, (struct lt_layout *)first,
                 (struct lt_layout *)second, (struct lt_layout *)c);

    *count = 0;
    if (handle == NULL || c != d || room != 1 ||
        preference->reductions != CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (status == CUBLAS_STATUS_SUCCESS)
        status = check_epilogue(&product);
    if (strcmp(told(), "none") == 0)
        status = CUBLAS_STATUS_NOT_SUPPORTED;
    for (int i = 0; i < 4; i++)
        if (preference->alignment[i] % 16 != 0)
            status = CUBLAS_STATUS_NOT_SUPPORTED;
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    *count = 1;
    results[0] = (cublasLtMatmulHeuristicResult_t){ .state = CUBLAS_STATUS_SUCCESS };
    results[0].algo.data[0] = (uint64_t)product.product.epilogue;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t lt_multiply(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                  const void *alpha, const void *first,
                                  cublasLtMatrixLayout_t layout_first, const void *second,
                                  cublasLtMatrixLayout_t layout_second, const void *beta,
                                  const void *c, cublasLtMatrixLayout_t layout_c, void *d,
                                  cublasLtMatrixLayout_t layout_d,
                                  const cublasLtMatmulAlgo_t *algorithm, void *workspace,
                                  size_t workspace_bytes, cudaStream_t stream)
{
    struct operation product = { 0 };
    cublasStatus_t status =
        describe(&product, (struct lt_operation *)operation, (struct lt_layout *)layout_first,
                 (struct lt_layout *)layout_second, (struct lt_layout *)layout_c);

    if (status == CUBLAS_STATUS_SUCCESS)
        status = check_epilogue(&product);
    if (handle == NULL || *(const float *)alpha != 1 || *(const float *)beta != 0 || c != d ||
        layout_c != layout_d || algorithm->data[0] != (uint64_t)product.product.epilogue ||
        (uintptr_t)workspace % 256 != 0 || workspace == NULL || workspace_bytes == 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    product.product.first = first;
    product.product.second = second;
    product.product.c = d;
    return stand_in_multiply(stream, &product, "_Z13gemm_epilogueIfEvPT_");
}

static const struct cublaslt stand_in_lt = {
    .create = lt_create,
    .destroy = lt_destroy,
    .operation_create = operation_create,
    .operation_destroy = operation_destroy,
    .operation_set = operation_set,
    .layout_create = layout_create,
    .layout_destroy = layout_destroy,
    .preference_create = preference_create,
    .preference_destroy = preference_destroy,
    .preference_set = preference_set,
    .heuristic = heuristic,
    .multiply = lt_multiply,
};

enum status cublaslt_load(const struct cublaslt **cublaslt)
{
    if (strcmp(told(), "absent") == 0)
        FAIL(STATUS_NO_LIBRARY, "cuda: cuBLASLt is not here");
    *cublaslt = &stand_in_lt;
    return STATUS_OK;
}
