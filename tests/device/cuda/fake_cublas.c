/* A library that the CUDA device takes for cuBLAS. It multiplies nothing: it says that it is
 * version 13.7.9 of NAME, and with LACKING it has no cublasGemmEx. */
#define FAKE(name) __attribute__((visibility("default"))) int name(void)

#define EXPORT(name)                                                                               \
    FAKE(name);                                                                                    \
    FAKE(name)                                                                                     \
    {                                                                                              \
        return 0;                                                                                  \
    }

EXPORT(cublasCreate_v2)
EXPORT(cublasDestroy_v2)
EXPORT(cublasSetStream_v2)
EXPORT(cublasSetWorkspace_v2)
EXPORT(cublasSetMathMode)
#ifndef LACKING
EXPORT(cublasGemmEx)
#endif
EXPORT(cublasGemmStridedBatchedEx)

__attribute__((visibility("default"))) int cublasGetProperty(int property, int *value);
__attribute__((visibility("default"))) const char *cublasGetStatusName(int status);
__attribute__((visibility("default"))) const char *cublasGetStatusString(int status);

int cublasGetProperty(int property, int *value)
{
    static const int version[] = { 13, 7, 9 };

    *value = version[property];
    return 0;
}

const char *cublasGetStatusName(int status)
{
    return status == 15 ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_INTERNAL_ERROR";
}

const char *cublasGetStatusString(int status)
{
    return status == 15 ? "no such product" : "something broke";
}
