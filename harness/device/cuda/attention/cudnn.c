#include "harness/device/cuda/attention/cudnn.h"

#include "harness/device/plugin/library.h"

#include <pthread.h>

#define LIBRARY "libcudnn.so.9"

static enum status resolve(void *library, struct cudnn *cudnn)
{
    enum status status = STATUS_OK;
    static const char *const symbols[] = {
#define CUDNN_SYMBOL(member, symbol) #symbol,
        CUDNN_CALLS(CUDNN_SYMBOL)
#undef CUDNN_SYMBOL
    };
    void **members[] = {
#define CUDNN_ADDRESS(member, symbol) (void **)&cudnn->member,
        CUDNN_CALLS(CUDNN_ADDRESS)
#undef CUDNN_ADDRESS
    };
    const char *missing;

    missing = library_resolve(library, symbols, members, ARRAY_SIZE(symbols));
    if (missing != NULL)
        FAIL(STATUS_NO_LIBRARY, "cuda: " LIBRARY " has no %s; install cuDNN 9.10 or newer",
             missing);
    if (cudnn->get_version() < CUDNN_OLDEST)
        FAIL(STATUS_NO_LIBRARY,
             "cuda: cuDNN is version %zu.%zu.%zu, too old for fused attention; install 9.10 or "
             "newer",
             cudnn->get_version() / 10000, cudnn->get_version() / 100 % 100,
             cudnn->get_version() % 100);

out:
    return status;
}

enum status cudnn_load(const struct cudnn **result)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct cudnn loaded;
    static void *library;
    static int resolved;
    enum status status = STATUS_OK;
    char why[256] = "";

    pthread_mutex_lock(&lock);
    if (library == NULL)
        library = library_open(LIBRARY, why, sizeof why);
    if (library == NULL)
        FAIL(STATUS_NO_LIBRARY,
             "cuda: cuDNN does not load: %s; install it (libcudnn9), or set CUDA_HOME or "
             "LD_LIBRARY_PATH to where it is",
             why);
    if (!resolved)
        TRY(resolve(library, &loaded));
    resolved = 1;
    *result = &loaded;

out:
    pthread_mutex_unlock(&lock);
    return status;
}
