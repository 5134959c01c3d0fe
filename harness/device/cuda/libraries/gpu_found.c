/* First look, then judge: gpu_look() gathers facts without failing, gpu_verdict() turns them into
 * OK or the one sentence that helps. So a test can judge any machine. The driver is opened by hand
 * first: what the loader says of a missing one is part of the sentence. */
#include "harness/device/cuda/libraries/gpu_found.h"

#include "harness/device/cuda/libraries/errors.h"
#include "harness/device/cuda/libraries/nvml.h"
#include "harness/device/plugin/library.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* CUDA 13 dropped GPUs before Turing ("CUDA Toolkit 13.0 Release Notes": Maxwell, Pascal,
 * Volta). A build of CUDA 12 has no kernels for them either. */
enum { LEAST_COMPUTE_CAPABILITY = 75 };

/* A driver serves every toolkit of its major version ("CUDA Compatibility": minor version
 * compatibility). */
enum { CUDA_MAJOR = CHOKEPOINT_CUDA_MAJOR, LEAST_DRIVER = CUDA_MAJOR * 1000 };
#define DRIVER_RELEASE LIBRARY_TEXT(CHOKEPOINT_CUDA_DRIVER)

void gpu_look(struct gpu_found *found, int index)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    struct cudaDeviceProp properties;
    int mode = cudaComputeModeDefault;

    *found = (struct gpu_found){ .visible = getenv("CUDA_VISIBLE_DEVICES") };
    if (driver == NULL) {
        snprintf(found->driver_missing, sizeof found->driver_missing, "%s", dlerror());
        return;
    }
    dlclose(driver); /* The runtime opens it again. */
    found->count_error = cudaDriverGetVersion(&found->driver_version);
    if (found->count_error != cudaSuccess || found->driver_version < LEAST_DRIVER) {
        nvml_driver_release(found->driver_release, sizeof found->driver_release);
        return;
    }
    found->count_error = cudaGetDeviceCount(&found->count);
    if (found->count_error != cudaSuccess || index >= found->count)
        return;
    found->count_error = cudaGetDeviceProperties(&properties, index);
    if (found->count_error != cudaSuccess)
        return;
    snprintf(found->name, sizeof found->name, "%s", properties.name);
    found->compute_capability = properties.major * 10 + properties.minor;
    if (cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, index) == cudaSuccess)
        found->prohibited = mode == cudaComputeModeProhibited;
}

static enum status driver_verdict(const struct gpu_found *found)
{
    if (found->driver_missing[0] != '\0')
        FAIL(STATUS_NO_LIBRARY,
             "cuda: there is no NVIDIA driver here (%s); install driver " DRIVER_RELEASE
             " or newer, or start the container with --gpus all; --device cpu needs neither",
             found->driver_missing);
    if (found->driver_version == 0 && found->count_error == cudaSuccess)
        FAIL(STATUS_NO_LIBRARY,
             "cuda: libcuda.so.1 loads but supports no CUDA: the NVIDIA driver%s%s is far too old, "
             "or "
             "not all of it is installed; install driver " DRIVER_RELEASE " or newer",
             found->driver_release[0] != '\0' ? " " : "", found->driver_release);
    if (found->driver_version < LEAST_DRIVER && found->count_error == cudaSuccess)
        FAIL(STATUS_NO_LIBRARY,
             "cuda: the NVIDIA driver%s%s is too old: it supports CUDA %d.%d, and this was built "
             "with %d.%d; install driver " DRIVER_RELEASE " or newer%s",
             found->driver_release[0] != '\0' ? " " : "", found->driver_release,
             found->driver_version / 1000, found->driver_version % 1000 / 10, CUDA_MAJOR,
             CUDART_VERSION % 1000 / 10,
             CUDA_MAJOR == 13 && found->driver_version >= 12000
                 ? ", or build with a toolkit of CUDA 12 (12.4 or newer)"
                 : "");

    return STATUS_OK;
}

enum status gpu_verdict(const struct gpu_found *found, int index)
{
    bool hidden = found->visible != NULL;

    TRY(driver_verdict(found));
    if (found->count_error == cudaErrorNoDevice ||
        (found->count_error == cudaSuccess && found->count == 0))
        FAIL(STATUS_NO_DEVICE, "cuda: the driver finds no GPU here%s%s%s; nvidia-smi -L lists them",
             hidden ? ", with CUDA_VISIBLE_DEVICES=\"" : "", hidden ? found->visible : "",
             hidden ? "\"" : "");
    if (found->count_error != cudaSuccess)
        TRY(errors_check(found->count_error, "cuda: looking for GPUs", __FILE__, __LINE__));
    if (index >= found->count)
        FAIL(STATUS_NO_DEVICE, "cuda:%d: there %s only %d GPU%s%s%s%s, counted from 0", index,
             found->count == 1 ? "is" : "are", found->count, found->count == 1 ? "" : "s",
             hidden ? ", with CUDA_VISIBLE_DEVICES=\"" : "", hidden ? found->visible : "",
             hidden ? "\"" : "");
    if (found->compute_capability < LEAST_COMPUTE_CAPABILITY)
        FAIL(STATUS_UNSUPPORTED,
             "cuda:%d: %s has compute capability %d.%d; this build for CUDA %d wants %d.%d "
             "(Turing) or newer",
             index, found->name, found->compute_capability / 10, found->compute_capability % 10,
             CUDA_MAJOR, LEAST_COMPUTE_CAPABILITY / 10, LEAST_COMPUTE_CAPABILITY % 10);
    if (found->prohibited)
        FAIL(STATUS_NO_DEVICE,
             "cuda:%d: %s is in compute mode \"prohibited\"; nvidia-smi -c 0 opens it", index,
             found->name);

    return STATUS_OK;
}
