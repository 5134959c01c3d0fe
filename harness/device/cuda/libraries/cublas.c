/* cuBLAS and cuBLASLt, loaded when they are needed. Their functions come from lists of names
 * (cublas.h). cuBLAS says little of a failure, so the sentence names the variables that make it log
 * more. */
#include "harness/device/cuda/libraries/cublas.h"

#include "harness/device/plugin/library.h"

#include <stdio.h>

static struct cublas loaded;
static struct cublaslt loaded_lt;

static const struct library_symbol symbols[] = {
#define SYMBOL(member, symbol) { #symbol, (void **)&loaded.member },
    CUBLAS_FUNCTIONS(SYMBOL)
#undef SYMBOL
};
static const struct library_symbol symbols_lt[] = {
#define SYMBOL(member, symbol) { #symbol, (void **)&loaded_lt.member },
    CUBLASLT_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

#define LIBRARY(its_title, its_file, its_symbols)                                                  \
    {                                                                                              \
        .title = its_title, .file = its_file ".so." LIBRARY_TEXT(CUBLAS_VER_MAJOR),                \
        .package = "libcublas of CUDA " LIBRARY_TEXT(CUBLAS_VER_MAJOR) ", part of the toolkit",    \
        .oldest =                                                                                  \
            "cuBLAS of CUDA " LIBRARY_TEXT(CUBLAS_VER_MAJOR) "." LIBRARY_TEXT(CUBLAS_VER_MINOR),   \
        .symbols = its_symbols, .symbol_count = ARRAY_SIZE(its_symbols),                           \
        .lock = PTHREAD_MUTEX_INITIALIZER,                                                         \
    }
static struct library library = LIBRARY("cuBLAS", "libcublas", symbols);
static struct library library_lt = LIBRARY("cuBLASLt", "libcublasLt", symbols_lt);

enum status cublas_load(const struct cublas **cublas)
{
    enum status status = library_load(&library);

    if (status == STATUS_OK)
        *cublas = &loaded;
    return status;
}

enum status cublaslt_load(const struct cublaslt **cublaslt)
{
    enum status status = library_load(&library_lt);

    if (status == STATUS_OK)
        *cublaslt = &loaded_lt;
    return status;
}

void cublas_version(const struct cublas *cublas, char *text, size_t size)
{
    int major = 0, minor = 0, patch = 0;

    cublas->get_property(MAJOR_VERSION, &major);
    cublas->get_property(MINOR_VERSION, &minor);
    cublas->get_property(PATCH_LEVEL, &patch);
    snprintf(text, size, "cuBLAS %d.%d.%d", major, minor, patch);
}

static enum status status_of(cublasStatus_t result)
{
    switch (result) {
    case CUBLAS_STATUS_SUCCESS:
        return STATUS_OK;
    case CUBLAS_STATUS_ALLOC_FAILED:
        return STATUS_DEVICE_OUT_OF_MEMORY;
    case CUBLAS_STATUS_ARCH_MISMATCH:
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return STATUS_UNSUPPORTED;
    default:
        return STATUS_DEVICE_ERROR;
    }
}

enum status cublas_check(const struct cublas *cublas, cublasStatus_t result, const char *call)
{
    if (result == CUBLAS_STATUS_SUCCESS)
        return STATUS_OK;
    return status_fail(status_of(result), __FILE__, __LINE__,
                       "%s failed: %s (%s); CUBLAS_LOGINFO_DBG=1 CUBLAS_LOGDEST_DBG=stderr shows "
                       "more",
                       call, cublas->status_name(result), cublas->status_text(result));
}
