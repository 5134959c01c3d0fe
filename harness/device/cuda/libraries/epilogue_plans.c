/* Plans of products with epilogues.
 *
 * By columns ("cuBLAS Library", cublasLtMatmul) c is its transpose, so that a bias of c's columns
 * runs along cuBLASLt's rows, where it wants biases, and the sums of op(b) over k are those of its
 * first factor: BGRADA. The leading dimension of aux must be a multiple of 8; biases and aux have
 * the type of c. The reference does not say which GELU it has. TensorRT-LLM and PyTorch use it as
 * the tanh form, which is ours.
 *
 * As in cuda_gemm.c, the parts of a split k are only added in fp32: the mask of reductions leaves
 * out those in the type of c. */
#include "harness/device/cuda/libraries/epilogue_plans.h"

#include "harness/device/cuda/libraries/gemm_swap.h"

#include <stdlib.h>
#include <string.h>

/* The alignment of addresses, in bytes: a thread loads as much at once. Tensors have more. */
enum { ALIGNMENT = 16 };

/* All that the choice depends on; members of one size, compared as memory. */
struct gemm_kind {
    int32_t m, n, k, lda, ldb, ldc;
    int32_t transpose_a, transpose_b, dtype, math, epilogue;
};

struct epilogue_plan {
    struct gemm_kind kind;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t first, second, c;
    cublasLtMatmulAlgo_t algorithm;
    bool is_supported;
    struct epilogue_plan *next;
};

struct epilogue_plans {
    const struct cublas *cublas;
    const struct cublaslt *lt;
    cublasLtHandle_t handle;
    cublasLtMatmulPreference_t preference;
    size_t workspace_bytes;
    struct epilogue_plan *first;
};

static const struct {
    const char *name;
    cublasLtEpilogue_t epilogue;
} epilogues[EPILOGUE_COUNT] = {
    [EPILOGUE_NONE] = { "no epilogue", CUBLASLT_EPILOGUE_DEFAULT },
    [EPILOGUE_BIAS] = { "BIAS", CUBLASLT_EPILOGUE_BIAS },
    [EPILOGUE_GELU_AUX_BIAS] = { "GELU_AUX_BIAS", CUBLASLT_EPILOGUE_GELU_AUX_BIAS },
    [EPILOGUE_DGELU] = { "DGELU", CUBLASLT_EPILOGUE_DGELU },
    [EPILOGUE_BGRAD] = { "BGRADA", CUBLASLT_EPILOGUE_BGRADA },
};

/* Calls one of cuBLASLt's functions. */
#define LT(plans, member, symbol, ...)                                                             \
    cublas_check((plans)->cublas, (plans)->lt->member(__VA_ARGS__), #symbol)

static enum status describe(const struct epilogue_plans *plans, const struct epilogue_plan *plan,
                            cublasLtMatmulDescAttributes_t attribute, const void *value,
                            size_t size)
{
    return LT(plans, operation_set, cublasLtMatmulDescSetAttribute, plan->operation, attribute,
              value, size);
}

/* --- Open and close --- */

enum status epilogue_plans_open(struct epilogue_plans **result, const struct cublas *cublas,
                                size_t workspace_bytes)
{
    enum status status = STATUS_OK;
    const uint64_t bytes = workspace_bytes;
    const uint32_t alignment = ALIGNMENT, reduction = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    const struct {
        cublasLtMatmulPreferenceAttributes_t attribute;
        const void *value;
        size_t size;
    } wanted[] = {
        { CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes },
        { CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reduction, sizeof reduction },
        { CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &alignment, sizeof alignment },
        { CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &alignment, sizeof alignment },
        { CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &alignment, sizeof alignment },
        { CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &alignment, sizeof alignment },
    };
    struct epilogue_plans *plans = NULL;
    const struct cublaslt *lt;

    *result = NULL;
    TRY_OUT(cublaslt_load(&lt));
    plans = calloc(1, sizeof *plans);
    if (plans == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory for cuBLASLt's handle (%zu bytes)",
                 sizeof *plans);
    plans->cublas = cublas;
    plans->lt = lt;
    plans->workspace_bytes = workspace_bytes;
    TRY_OUT(LT(plans, create, cublasLtCreate, &plans->handle));
    TRY_OUT(LT(plans, preference_create, cublasLtMatmulPreferenceCreate, &plans->preference));
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
        TRY_OUT(LT(plans, preference_set, cublasLtMatmulPreferenceSetAttribute, plans->preference,
                   wanted[i].attribute, wanted[i].value, wanted[i].size));
    *result = plans;
    plans = NULL;

out:
    epilogue_plans_close(plans);
    return status;
}

static void free_plan(const struct cublaslt *lt, struct epilogue_plan *plan)
{
    cublasLtMatrixLayout_t layouts[] = { plan->first, plan->second, plan->c };

    for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
        if (layouts[i] != NULL)
            lt->layout_destroy(layouts[i]);
    if (plan->operation != NULL)
        lt->operation_destroy(plan->operation);
    free(plan);
}

void epilogue_plans_close(struct epilogue_plans *plans)
{
    if (plans == NULL)
        return;
    while (plans->first != NULL) {
        struct epilogue_plan *next = plans->first->next;
        free_plan(plans->lt, plans->first);
        plans->first = next;
    }
    if (plans->preference != NULL)
        plans->lt->preference_destroy(plans->preference);
    if (plans->handle != NULL)
        plans->lt->destroy(plans->handle);
    free(plans);
}

/* --- Making a plan --- */

static enum status set_addresses(const struct epilogue_plans *plans,
                                 const struct epilogue_plan *plan, const struct gemm *gemm)
{
    if (gemm->bias != NULL)
        TRY(describe(plans, plan, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &gemm->bias,
                     sizeof gemm->bias));
    if (gemm->aux != NULL)
        TRY(describe(plans, plan, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &gemm->aux,
                     sizeof gemm->aux));

    return STATUS_OK;
}

static enum status describe_operation(const struct epilogue_plans *plans,
                                      struct epilogue_plan *plan, const struct column_product *p,
                                      const struct gemm *gemm)
{
    const int32_t op_first = p->transpose_first ? CUBLAS_OP_T : CUBLAS_OP_N;
    const int32_t op_second = p->transpose_second ? CUBLAS_OP_T : CUBLAS_OP_N;
    const uint32_t epilogue = epilogues[gemm->epilogue].epilogue;
    const int64_t ld_aux = gemm->ldc;

    TRY(LT(plans, operation_create, cublasLtMatmulDescCreate, &plan->operation, p->compute,
           CUDA_R_32F));
    TRY(describe(plans, plan, CUBLASLT_MATMUL_DESC_TRANSA, &op_first, sizeof op_first));
    TRY(describe(plans, plan, CUBLASLT_MATMUL_DESC_TRANSB, &op_second, sizeof op_second));
    TRY(describe(plans, plan, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    if (gemm->aux != NULL)
        TRY(describe(plans, plan, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &ld_aux, sizeof ld_aux));
    return set_addresses(plans, plan, gemm);
}

/* A matrix [rows, columns] as it is stored, by columns. */
static enum status lay_out(const struct epilogue_plans *plans, cublasLtMatrixLayout_t *layout,
                           cudaDataType_t type, int rows, int columns, int ld, bool transposed)
{
    return LT(plans, layout_create, cublasLtMatrixLayoutCreate, layout, type,
              (uint64_t)(transposed ? columns : rows), (uint64_t)(transposed ? rows : columns), ld);
}

static enum status choose(const struct epilogue_plans *plans, struct epilogue_plan *plan)
{
    cublasLtMatmulHeuristicResult_t found;
    cublasStatus_t result;
    int count = 0;

    result = plans->lt->heuristic(plans->handle, plan->operation, plan->first, plan->second,
                                  plan->c, plan->c, plans->preference, 1, &found, &count);
    /* Combinations that it does not have are either, by version. */
    if (result != CUBLAS_STATUS_NOT_SUPPORTED && result != CUBLAS_STATUS_INVALID_VALUE)
        TRY(cublas_check(plans->cublas, result, "cublasLtMatmulAlgoGetHeuristic"));
    plan->is_supported =
        result == CUBLAS_STATUS_SUCCESS && count > 0 && found.state == CUBLAS_STATUS_SUCCESS;
    if (plan->is_supported)
        plan->algorithm = found.algo;

    return STATUS_OK;
}

static enum status make(struct epilogue_plans *plans, const struct gemm_kind *kind,
                        const struct gemm *gemm)
{
    enum status status = STATUS_OK;
    struct column_product p = gemm_swap(gemm);
    struct epilogue_plan *plan = calloc(1, sizeof *plan);

    if (plan == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory for the plan of a product (%zu bytes)",
                 sizeof *plan);
    plan->kind = *kind;
    TRY_OUT(describe_operation(plans, plan, &p, gemm));
    TRY_OUT(lay_out(plans, &plan->first, p.type, p.m, p.k, p.ld_first, p.transpose_first));
    TRY_OUT(lay_out(plans, &plan->second, p.type, p.k, p.n, p.ld_second, p.transpose_second));
    TRY_OUT(lay_out(plans, &plan->c, p.type_c, p.m, p.n, p.ld_c, false));
    TRY_OUT(choose(plans, plan));
    plan->next = plans->first;
    plans->first = plan;
    plan = NULL;

out:
    if (plan != NULL)
        free_plan(plans->lt, plan);
    return status;
}

enum status epilogue_plans_find(struct epilogue_plans *plans, const struct gemm *gemm,
                                const struct epilogue_plan **found)
{
    const struct gemm_kind kind = { gemm->m,
                                    gemm->n,
                                    gemm->k,
                                    gemm->lda,
                                    gemm->ldb,
                                    gemm->ldc,
                                    gemm->transpose_a,
                                    gemm->transpose_b,
                                    (int32_t)gemm->dtype_ab,
                                    (int32_t)gemm->math,
                                    (int32_t)gemm->epilogue };
    uintptr_t addresses = (uintptr_t)gemm->a | (uintptr_t)gemm->b | (uintptr_t)gemm->c |
                          (uintptr_t)gemm->bias | (uintptr_t)gemm->aux;
    const struct epilogue_plan *plan = plans->first;

    if (addresses % ALIGNMENT != 0)
        FAIL(STATUS_UNSUPPORTED, "an epilogue takes addresses that are multiples of %d", ALIGNMENT);
    while (plan != NULL && memcmp(&plan->kind, &kind, sizeof kind) != 0) plan = plan->next;
    if (plan == NULL) {
        TRY(make(plans, &kind, gemm));
        plan = plans->first;
    }
    if (!plan->is_supported) /* Without sizes, which may be many: users see it. */
        FAIL(STATUS_UNSUPPORTED, "cuBLASLt has no kernel with %s in %s for all sizes",
             epilogues[gemm->epilogue].name, dtype_name(gemm->dtype_ab));
    *found = plan;

    return STATUS_OK;
}

enum status epilogue_plans_multiply(struct epilogue_plans *plans, const struct epilogue_plan *plan,
                                    const struct gemm *gemm, void *workspace, cudaStream_t stream,
                                    cublasStatus_t *result)
{
    const float one = 1, zero = 0;

    TRY(set_addresses(plans, plan, gemm));
    *result = plans->lt->multiply(plans->handle, plan->operation, &one, gemm->b, plan->first,
                                  gemm->a, plan->second, &zero, gemm->c, plan->c, gemm->c, plan->c,
                                  &plan->algorithm, workspace, plans->workspace_bytes, stream);

    return STATUS_OK;
}
