/* NCCL, loaded when ranks of GPUs communicate. The library's functions come from one list of names
 * (nccl.h), and nccl_check() turns NCCL's results into statuses. The version is asked for only when
 * something fails. */
#include "harness/device/cuda/libraries/nccl.h"

#include "harness/device/plugin/library.h"

#include <stdio.h>
#include <string.h>

static struct nccl loaded;

static const struct library_symbol symbols[] = {
#define SYMBOL(symbol, parameters) { #symbol, (void **)&loaded.symbol },
    NCCL_CALLS(SYMBOL)
#undef SYMBOL
        { "ncclGetErrorString", (void **)&loaded.ncclGetErrorString },
    { "ncclGetLastError", (void **)&loaded.ncclGetLastError },
};

static struct library library = {
    .title = "NCCL, which connects the GPUs of several ranks,",
    .file = "libnccl.so.2",
    .package = "libnccl2, or nvidia-nccl-cu" LIBRARY_TEXT(CHOKEPOINT_CUDA_MAJOR) " of pip",
    .oldest = "NCCL 2.13", /* the first with ncclGetLastError() */
    .symbols = symbols,
    .symbol_count = ARRAY_SIZE(symbols),
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

enum status nccl_load(const struct nccl **nccl)
{
    enum status status = library_load(&library);

    if (status == STATUS_OK)
        *nccl = &loaded;
    return status;
}

/* NCCL_VERSION() of nccl.h: 2.8.3 is 2803, and from 2.9 on 2.9.6 is 20906. */
static void print_version(const struct nccl *nccl, char *text, size_t size)
{
    int version = 0;

    snprintf(text, size, "NCCL");
    if (nccl->ncclGetVersion(&version) == NCCL_SUCCESS && version >= 10000)
        snprintf(text, size, "NCCL %d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

enum status nccl_check(const struct nccl *nccl, enum nccl_result result, const char *call)
{
    enum status status = result == NCCL_INVALID_USAGE      ? STATUS_BAD_USAGE
                         : result == NCCL_INVALID_ARGUMENT ? STATUS_INTERNAL
                                                           : STATUS_DEVICE_ERROR;
    char version[32], last[160];

    if (result == NCCL_SUCCESS)
        return STATUS_OK;
    print_version(nccl, version, sizeof version);
    /* The last words may have several lines, the first of them empty. */
    const char *said = nccl->ncclGetLastError(NULL);
    said = said != NULL ? said + strspn(said, "\n") : "";
    snprintf(last, sizeof last, "%.*s", (int)strcspn(said, "\n"), said);
    FAIL_OUT(status, "%.*s failed: %s%s%s (%s)", (int)strcspn(call, "("), call,
             nccl->ncclGetErrorString(result), last[0] != '\0' ? ": " : "", last, version);

out:
    return status;
}
