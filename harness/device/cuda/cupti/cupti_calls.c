/* Two lists say which calls a trace shows. CUPTI is asked for the name of each of its callback ids
 * once, at the start of a recording; the name without its version and variant is looked up in the
 * list. */
#include "harness/device/cuda/cupti/cupti_records.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* The calls of this device, and the calls of libraries that launch, copy or wait. */
static const char *const runtime_names[] = {
    "cudaLaunchKernel",
    "cudaLaunchKernelExC",
    "cudaLaunchCooperativeKernel",
    "cudaLaunchHostFunc",
    "cudaGraphLaunch",
    "cudaGraphInstantiate",
    "cudaGraphInstantiateWithFlags",
    "cudaGraphInstantiateWithParams",
    "cudaGraphUpload",
    "cudaGraphExecDestroy",
    "cudaStreamBeginCapture",
    "cudaStreamEndCapture",
    "cudaMemcpy",
    "cudaMemcpyAsync",
    "cudaMemcpyPeerAsync",
    "cudaMemset",
    "cudaMemsetAsync",
    "cudaMalloc",
    "cudaMallocAsync",
    "cudaMallocFromPoolAsync",
    "cudaFree",
    "cudaFreeAsync",
    "cudaMemPoolTrimTo",
    "cudaDeviceGraphMemTrim",
    "cudaHostAlloc",
    "cudaMallocHost",
    "cudaFreeHost",
    "cudaHostRegister",
    "cudaHostUnregister",
    "cudaStreamCreateWithFlags",
    "cudaStreamCreateWithPriority",
    "cudaStreamDestroy",
    "cudaStreamWaitEvent",
    "cudaStreamQuery",
    "cudaStreamSynchronize",
    "cudaDeviceSynchronize",
    "cudaEventCreateWithFlags",
    "cudaEventDestroy",
    "cudaEventRecord",
    "cudaEventQuery",
    "cudaEventSynchronize",
};

/* Driver calls that libraries cause work with, past the runtime. */
static const char *const driver_names[] = {
    "cuLaunchKernel",  "cuLaunchKernelEx",  "cuLaunchCooperativeKernel", "cuGraphLaunch",
    "cuMemcpyAsync",   "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync",         "cuMemcpyDtoDAsync",
    "cuMemsetD8Async", "cuMemsetD16Async",  "cuMemsetD32Async",
};

/* The length without a version at the end ("_v7000") and without a variant for streams of threads
 * ("_ptsz", "_ptds"), in either order. */
static size_t bare_length(const char *name)
{
    size_t length = strlen(name);
    bool cut = true;

    while (cut) {
        size_t digits = length;
        cut = false;
        while (digits > 0 && isdigit((unsigned char)name[digits - 1])) digits--;
        if (digits < length && digits > 2 && strncmp(name + digits - 2, "_v", 2) == 0) {
            length = digits - 2;
            cut = true;
        } else if (length > 5 && (strncmp(name + length - 5, "_ptsz", 5) == 0 ||
                                  strncmp(name + length - 5, "_ptds", 5) == 0)) {
            length -= 5;
            cut = true;
        }
    }
    return length;
}

static const char *name_listed(const char *const *names, size_t count, const char *name)
{
    size_t length = bare_length(name);

    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == length && strncmp(names[i], name, length) == 0)
            return names[i];
    return NULL;
}

/* nvcc 13 writes __cudaLaunchKernel for <<<>>>, which is the same call to a reader of traces. */
const char *cupti_runtime_call(const char *callback_name)
{
    if (strncmp(callback_name, "__", 2) == 0)
        callback_name += 2;
    return name_listed(runtime_names, ARRAY_SIZE(runtime_names), callback_name);
}

const char *cupti_driver_call(const char *callback_name)
{
    return name_listed(driver_names, ARRAY_SIZE(driver_names), callback_name);
}

static const char *callback_name(const struct cupti *cupti, CUpti_CallbackDomain domain,
                                 uint32_t id)
{
    const char *name = NULL;

    return cupti->callback_name(domain, id, &name) == CUPTI_SUCCESS && name != NULL ? name : "";
}

/* A library that is newer than the headers may have more calls, which nothing built with them
 * makes. */
void cupti_calls_find(struct cupti_calls *calls, const struct cupti *cupti)
{
    memset(calls, 0, sizeof *calls);
    for (uint32_t id = 1; id < CUPTI_RUNTIME_TRACE_CBID_SIZE; id++)
        calls->runtime[id] =
            cupti_runtime_call(callback_name(cupti, CUPTI_CB_DOMAIN_RUNTIME_API, id));
    for (uint32_t id = 1; id < CUPTI_DRIVER_TRACE_CBID_SIZE; id++)
        calls->driver[id] = cupti_driver_call(callback_name(cupti, CUPTI_CB_DOMAIN_DRIVER_API, id));
}
