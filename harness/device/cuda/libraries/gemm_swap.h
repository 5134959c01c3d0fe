/* From row-major products to the column-major ones that cuBLAS computes.
 *
 * A row-major [rows, columns] matrix with rows `ld` elements apart is, read as column-major, its
 * transpose [columns, rows] with the same leading dimension. So c = op(a) op(b) is c' = op(b)'
 * op(a)' with the operands swapped and everything else as it was: nothing is moved, nothing
 * transposed that was not before. */
#pragma once

#include "harness/device/device.h"

#include <cublas_v2.h>

/* Column-major c = op(first) op(second): op(first) is [m, k], op(second) is [k, n], c is [m, n]. */
struct column_product {
    void *c;
    const void *first, *second;
    int m, n, k, batch;
    int ld_first, ld_second, ld_c;
    int64_t stride_first, stride_second, stride_c;
    bool transpose_first, transpose_second;
    cudaDataType_t type, type_c; /* of both factors, and of c */
    cublasComputeType_t compute; /* the type of the sums, and what products may be rounded to */
};

struct column_product gemm_swap(const struct gemm *gemm);
