/* CUDA's errors as statuses, with advice for those that users meet. One table says of each whether
 * it is sticky: then every later call of the process fails with it. An error that it does not list
 * is a plain DEVICE_ERROR without advice: most of CUDA's errors say that the caller made a mistake,
 * and here the caller is this device. */
#include "harness/device/cuda/libraries/errors.h"

#include <cuda_runtime_api.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define LOST  "the process cannot use CUDA any more; start it again"
#define CHECK LOST ", under compute-sanitizer to find the kernel"
#define BUSY  "nvidia-smi shows who uses the GPU"
#define HARDWARE                                                                                   \
    LOST "; the GPU or its memory is faulty: see Xid messages in dmesg and nvidia-smi -q"
#define FABRIC                                                                                     \
    "the GPUs' fabric is not ready: is nvidia-fabricmanager running, in the driver's version?"
#define MISMATCH                                                                                   \
    "libcuda.so.1 and the kernel's driver are of different versions: reboot after an update, or "  \
    "take the driver's libraries out of the container's image"
#define CAPTURED "do it before or after the capture of the graph"

static const struct row {
    cudaError_t error;
    enum status status;
    bool sticky;
    const char *advice;
} rows[] = {
    { cudaSuccess, STATUS_OK, false, "" },
    { cudaErrorNotReady, STATUS_NOT_READY, false, "" },
    { cudaErrorMemoryAllocation, STATUS_DEVICE_OUT_OF_MEMORY, false, "use less; " BUSY },
    { cudaErrorLaunchOutOfResources, STATUS_UNSUPPORTED, false,
      "the kernel wants more registers than this GPU has for its block" },

    { cudaErrorNoDevice, STATUS_NO_DEVICE, false, "" },
    { cudaErrorInvalidDevice, STATUS_NO_DEVICE, false, "nvidia-smi -L lists the GPUs" },
    { cudaErrorDevicesUnavailable, STATUS_NO_DEVICE, false,
      "another process has the GPU for itself; " BUSY },
    { cudaErrorDeviceNotLicensed, STATUS_NO_DEVICE, false, "the virtual GPU has no licence" },
    { cudaErrorStubLibrary, STATUS_NO_LIBRARY, false,
      "the toolkit's stub was loaded instead of the driver's libcuda.so.1: take stubs/ out of "
      "LD_LIBRARY_PATH" },
    { cudaErrorInsufficientDriver, STATUS_NO_LIBRARY, false, "install a newer NVIDIA driver" },
    { cudaErrorCallRequiresNewerDriver, STATUS_NO_LIBRARY, false, "install a newer NVIDIA driver" },
    { cudaErrorSystemDriverMismatch, STATUS_NO_LIBRARY, false, MISMATCH },
    { cudaErrorCompatNotSupportedOnDevice, STATUS_NO_LIBRARY, false,
      "this GPU has no forward compatibility: remove cuda-compat and install a newer driver" },
    { cudaErrorSystemNotReady, STATUS_NO_DEVICE, false, FABRIC },
    { cudaErrorInitializationError, STATUS_NO_DEVICE, false,
      "the driver could not be started, perhaps because the process was forked after its first "
      "call" },
    { cudaErrorMpsConnectionFailed, STATUS_NO_DEVICE, false, "is the MPS server still there?" },
    { cudaErrorMpsServerNotReady, STATUS_NO_DEVICE, false, "try again: the MPS server is busy" },
    { cudaErrorMpsMaxClientsReached, STATUS_NO_DEVICE, false,
      "too many clients of the MPS server" },

    { cudaErrorNoKernelImageForDevice, STATUS_UNSUPPORTED, false,
      "the kernels were built for other GPUs" },
    { cudaErrorInvalidDeviceFunction, STATUS_UNSUPPORTED, false,
      "the kernels were built for other GPUs" },
    { cudaErrorUnsupportedPtxVersion, STATUS_UNSUPPORTED, false,
      "the kernels were built by a newer toolkit than the driver knows" },
    { cudaErrorJitCompilerNotFound, STATUS_UNSUPPORTED, false,
      "the kernels were built for other GPUs, and the driver's compiler "
      "(libnvidia-ptxjitcompiler.so.1) is missing" },
    { cudaErrorNotSupported, STATUS_UNSUPPORTED, false, "" },
    { cudaErrorInvalidResourceHandle, STATUS_BAD_USAGE, false,
      "a stream, event or graph is used that was destroyed or is another GPU's" },

    { cudaErrorStreamCaptureUnsupported, STATUS_CAPTURE, false, CAPTURED },
    { cudaErrorStreamCaptureInvalidated, STATUS_CAPTURE, false, CAPTURED },
    { cudaErrorStreamCaptureMerge, STATUS_CAPTURE, false, CAPTURED },
    { cudaErrorStreamCaptureUnmatched, STATUS_CAPTURE, false, CAPTURED },
    { cudaErrorStreamCaptureUnjoined, STATUS_CAPTURE, false, CAPTURED },
    { cudaErrorStreamCaptureIsolation, STATUS_CAPTURE, false, CAPTURED },
    { cudaErrorStreamCaptureImplicit, STATUS_CAPTURE, false, CAPTURED },
    { cudaErrorCapturedEvent, STATUS_CAPTURE, false, CAPTURED },
    { cudaErrorStreamCaptureWrongThread, STATUS_CAPTURE, false, CAPTURED },

    { cudaErrorIllegalAddress, STATUS_DEVICE_ERROR, true, CHECK },
    { cudaErrorLaunchTimeout, STATUS_DEVICE_ERROR, true,
      LOST "; a kernel ran longer than the display's watchdog allows" },
    { cudaErrorAssert, STATUS_DEVICE_ERROR, true, CHECK },
    { cudaErrorHardwareStackError, STATUS_DEVICE_ERROR, true, CHECK },
    { cudaErrorIllegalInstruction, STATUS_DEVICE_ERROR, true, CHECK },
    { cudaErrorMisalignedAddress, STATUS_DEVICE_ERROR, true, CHECK },
    { cudaErrorInvalidAddressSpace, STATUS_DEVICE_ERROR, true, CHECK },
    { cudaErrorInvalidPc, STATUS_DEVICE_ERROR, true, CHECK },
    { cudaErrorLaunchFailure, STATUS_DEVICE_ERROR, true, CHECK },
    /* cudaErrorTensorMemoryLeak and, below, cudaErrorContained are not in all headers. */
    { (cudaError_t)721, STATUS_DEVICE_ERROR, true, CHECK },
    { cudaErrorMpsClientTerminated, STATUS_DEVICE_ERROR, true,
      LOST "; another client of the MPS server ended it" },
    { cudaErrorECCUncorrectable, STATUS_DEVICE_ERROR, true, HARDWARE },
    { cudaErrorNvlinkUncorrectable, STATUS_DEVICE_ERROR, true, HARDWARE },
    { (cudaError_t)226, STATUS_DEVICE_ERROR, true, HARDWARE },
    { cudaErrorExternalDevice, STATUS_DEVICE_ERROR, true, LOST },
    { cudaErrorContextIsDestroyed, STATUS_DEVICE_ERROR, true, LOST },
    { cudaErrorCudartUnloading, STATUS_INTERNAL, false, "CUDA was called while the process ended" },
};

static const struct row other = { cudaErrorUnknown, STATUS_DEVICE_ERROR, false, "" };

static atomic_bool injected;

static const struct row *error_row(cudaError_t error)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (rows[i].error == error)
            return &rows[i];
    return &other;
}

enum status errors_status(cudaError_t error)
{
    return error_row(error)->status;
}

const char *errors_advice(cudaError_t error)
{
    return error_row(error)->advice;
}

bool errors_is_sticky(cudaError_t error)
{
    return error_row(error)->sticky;
}

void errors_note_injected(void)
{
    atomic_store(&injected, true);
}

enum status errors_check(cudaError_t error, const char *call, const char *file, int line)
{
    const struct row *row = error_row(error);
    const char *origin =
        row->sticky && atomic_load(&injected) ? "; it was injected by CHOKEPOINT_FAIL=kernel" : "";

    if (error == cudaSuccess)
        return STATUS_OK;
    (void)cudaGetLastError(); /* The runtime keeps a copy, which would surface elsewhere. */
    return status_fail(row->status, file, line, "%.*s failed: %s (%s)%s%s%s",
                       (int)strcspn(call, "("), call, cudaGetErrorName(error),
                       cudaGetErrorString(error), origin, row->advice[0] != '\0' ? "; " : "",
                       row->advice);
}
