/* cuDNN, loaded when a device is opened. The library's functions come from one list of names
 * (cudnn.h). A version whose attention may compute wrong gradients is refused here, once, so no
 * caller has to look at it. */
#include "harness/device/cuda/attention/cudnn.h"

#include "harness/device/plugin/library.h"

static struct cudnn loaded;

static const struct library_symbol symbols[] = {
#define SYMBOL(member, symbol) { #symbol, (void **)&loaded.member },
    CUDNN_CALLS(SYMBOL)
#undef SYMBOL
};

static enum status check_version(void)
{
    size_t version = loaded.get_version();

    if (version < CUDNN_OLDEST)
        FAIL(STATUS_NO_LIBRARY,
             "cuda: cuDNN is version %zu.%zu.%zu, whose fused attention may compute wrong "
             "gradients; "
             "install " CUDNN_OLDEST_TEXT " or newer",
             version / 10000, version / 100 % 100, version % 100);

    return STATUS_OK;
}

static struct library library = {
    .title = "cuDNN",
    .file = "libcudnn.so.9",
    .package = "libcudnn9",
    .oldest = "cuDNN " CUDNN_OLDEST_TEXT,
    .symbols = symbols,
    .symbol_count = ARRAY_SIZE(symbols),
    .check = check_version,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

enum status cudnn_load(const struct cudnn **cudnn)
{
    enum status status = library_load(&library);

    if (status == STATUS_OK)
        *cudnn = &loaded;
    return status;
}
