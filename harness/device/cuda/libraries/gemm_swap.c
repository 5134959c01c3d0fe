/* A product of matrices in rows as one of matrices in columns, which is what cuBLAS computes: a
 * matrix read by columns is its transpose, and C' = B' A'. Only names change places: no data is
 * moved. */
#include "harness/device/cuda/libraries/gemm_swap.h"

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
    };
}
