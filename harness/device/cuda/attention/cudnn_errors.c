/* Turns a result of cuDNN into a status. It is apart from cudnn.c because the stand-in for cuDNN in
 * the tests takes this file and has functions of its own in place of the library's. */
#include "harness/device/cuda/attention/cudnn.h"

#include <string.h>

static enum status status_of(cudnnStatus_t result)
{
    if (CUDNN_STATUS_CATEGORY(result) == CUDNN_STATUS_NOT_SUPPORTED)
        return STATUS_UNSUPPORTED;
    if (CUDNN_STATUS_CATEGORY(result) == CUDNN_STATUS_BAD_PARAM)
        return STATUS_INTERNAL;
    if (result == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)
        return STATUS_DEVICE_OUT_OF_MEMORY;
    return STATUS_DEVICE_ERROR;
}

enum status cudnn_check(const struct cudnn *cudnn, cudnnStatus_t result, const char *call)
{
    char words[256] = "";

    if (result == CUDNN_STATUS_SUCCESS)
        return STATUS_OK;
    cudnn->last_error(words, sizeof words);
    words[strcspn(words, "\n")] = '\0';
    return status_fail(status_of(result), __FILE__, __LINE__, "%s failed: %s%s%s%s", call,
                       cudnn->error_string(result), words[0] != '\0' ? " (" : "", words,
                       words[0] != '\0' ? ")" : "");
}
