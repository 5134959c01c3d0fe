/* cuBLAS, loaded when a device is opened, and cuBLASLt, when an epilogue is asked for: the plugin
 * starts where they are missing, and says so. */
#pragma once

#include "harness/base/status.h"

#include <cublasLt.h>
#include <cublas_v2.h>

/* member, symbol: cublas_v2.h gives some functions other names than the library does. */
#define CUBLAS_FUNCTIONS(X)                                                                        \
    X(create, cublasCreate_v2)                                                                     \
    X(destroy, cublasDestroy_v2)                                                                   \
    X(set_stream, cublasSetStream_v2)                                                              \
    X(set_workspace, cublasSetWorkspace_v2)                                                        \
    X(set_math_mode, cublasSetMathMode)                                                            \
    X(gemm, cublasGemmEx)                                                                          \
    X(gemm_batched, cublasGemmStridedBatchedEx)                                                    \
    X(get_property, cublasGetProperty)                                                             \
    X(status_name, cublasGetStatusName)                                                            \
    X(status_text, cublasGetStatusString)

struct cublas {
#define CUBLAS_MEMBER(member, symbol) __typeof__(&symbol) member;
    CUBLAS_FUNCTIONS(CUBLAS_MEMBER)
};

#define CUBLASLT_FUNCTIONS(X)                                                                      \
    X(create, cublasLtCreate)                                                                      \
    X(destroy, cublasLtDestroy)                                                                    \
    X(operation_create, cublasLtMatmulDescCreate)                                                  \
    X(operation_destroy, cublasLtMatmulDescDestroy)                                                \
    X(operation_set, cublasLtMatmulDescSetAttribute)                                               \
    X(layout_create, cublasLtMatrixLayoutCreate)                                                   \
    X(layout_destroy, cublasLtMatrixLayoutDestroy)                                                 \
    X(preference_create, cublasLtMatmulPreferenceCreate)                                           \
    X(preference_destroy, cublasLtMatmulPreferenceDestroy)                                         \
    X(preference_set, cublasLtMatmulPreferenceSetAttribute)                                        \
    X(heuristic, cublasLtMatmulAlgoGetHeuristic)                                                   \
    X(multiply, cublasLtMatmul)

struct cublaslt {
    CUBLASLT_FUNCTIONS(CUBLAS_MEMBER)
};
#undef CUBLAS_MEMBER

/* Loads the library once for the process (plugin/library.h). NO_LIBRARY says what is missing. */
enum status cublas_load(const struct cublas **cublas);
enum status cublaslt_load(const struct cublaslt **cublaslt);

/* "cuBLAS 13.0.2" */
void cublas_version(const struct cublas *cublas, char *text, size_t size);

/* OK, or a failure that names the call, cuBLAS's status and what it says about it. */
enum status cublas_check(const struct cublas *cublas, cublasStatus_t result, const char *call);
