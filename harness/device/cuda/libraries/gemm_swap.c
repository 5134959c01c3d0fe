/* A product of matrices in rows as one of matrices in columns, which is what cuBLAS computes: a
 * matrix read by columns is its transpose, and C' = B' A'. Only names change places: no data is
 * moved. */
#include "harness/device/cuda/libraries/gemm_swap.h"

static const cudaDataType_t types[DTYPES_ALL] = {
    [DTYPE_F32] = CUDA_R_32F,
    [DTYPE_BF16] = CUDA_R_16BF,
    [DTYPE_F16] = CUDA_R_16F,
    [DTYPE_F64] = CUDA_R_64F,
};

/* Strict fp32 is CUBLAS_COMPUTE_32F, which never rounds operands to tf32 by itself; that is
 * CUBLAS_COMPUTE_32F_FAST_TF32. */
static cublasComputeType_t compute_of(const struct gemm *gemm)
{
    if (gemm->dtype_ab == DTYPE_F64)
        return CUBLAS_COMPUTE_64F;
    return gemm->dtype_ab == DTYPE_F32 && gemm->math == MATH_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                  : CUBLAS_COMPUTE_32F;
}

struct column_product gemm_swap(const struct gemm *gemm)
{
    return (struct column_product){
        .c = gemm->c,
        .first = gemm->b,
        .second = gemm->a,
        .m = gemm->n,
        .n = gemm->m,
        .k = gemm->k,
        .batch = gemm->batch,
        .ld_first = gemm->ldb,
        .ld_second = gemm->lda,
        .ld_c = gemm->ldc,
        .stride_first = gemm->stride_b,
        .stride_second = gemm->stride_a,
        .stride_c = gemm->stride_c,
        .transpose_first = gemm->transpose_b,
        .transpose_second = gemm->transpose_a,
        .type = types[gemm->dtype_ab],
        .type_c = types[gemm->dtype_c],
        .compute = compute_of(gemm),
    };
}
