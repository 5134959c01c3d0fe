#include "harness/device/cuda/cublas.h"

#include "harness/device/plugin/library.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#define PASTE_TEXT(number) #number
#define TEXT_OF(number)    PASTE_TEXT(number)
#define LIBRARY            "libcublas.so." TEXT_OF(CUBLAS_VER_MAJOR)

static enum status resolve(void *library, struct cublas *cublas)
{
    enum status status = STATUS_OK;
    static const char *const symbols[] = {
#define CUBLAS_SYMBOL(member, symbol) #symbol,
        CUBLAS_FUNCTIONS(CUBLAS_SYMBOL)
#undef CUBLAS_SYMBOL
    };
    void **members[] = {
#define CUBLAS_ADDRESS(member, symbol) (void **)&cublas->member,
        CUBLAS_FUNCTIONS(CUBLAS_ADDRESS)
#undef CUBLAS_ADDRESS
    };
    const char *missing;

    missing = library_resolve(library, symbols, members, ARRAY_SIZE(symbols));
    if (missing != NULL)
        FAIL(STATUS_NO_LIBRARY,
             "cuda: " LIBRARY " has no %s; install cuBLAS of CUDA %d.%d or newer", missing,
             CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR);

out:
    return status;
}

enum status cublas_load(const struct cublas **result)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct cublas loaded;
    static void *library;
    static bool resolved;
    enum status status = STATUS_OK;
    char why[256] = "";

    pthread_mutex_lock(&lock);
    if (library == NULL)
        library = library_open(LIBRARY, why, sizeof why);
    if (library == NULL)
        FAIL(STATUS_NO_LIBRARY,
             "cuda: cuBLAS does not load: %s; install it (libcublas of CUDA %d, part of the "
             "toolkit), or set CUDA_HOME or LD_LIBRARY_PATH to where it is",
             why, CUBLAS_VER_MAJOR);
    if (!resolved)
        TRY(resolve(library, &loaded));
    resolved = true;
    *result = &loaded;

out:
    pthread_mutex_unlock(&lock);
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
