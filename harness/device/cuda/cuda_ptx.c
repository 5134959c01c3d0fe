/* Kernels that come as PTX: a library of the runtime's each ("CUDA Runtime API", "Library
 * Management"), whose handle of a kernel cudaLaunchKernel() takes. The runtime has libraries since
 * CUDA 12.8; of an older one the device runs no PTX. */
#include "harness/device/cuda/cuda.h"

#include <stdlib.h>

#if CUDART_VERSION >= 12080
struct cuda_ptx {
    struct ptx_kernel base;
    cudaLibrary_t library;
    cudaKernel_t handle;
};

enum status cuda_ptx_load(struct device *device, const char *text, const char *name,
                          struct ptx_kernel **result)
{
    enum status status = STATUS_OK;
    struct cuda_ptx *kernel = calloc(1, sizeof *kernel);

    if (kernel == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no host memory for a kernel (%zu bytes)", sizeof *kernel);
    kernel->base.device = device;
    TRY_OUT(cuda_enter((struct cuda_device *)device));
    /* Loading compiles the PTX. A version that the driver does not know is UNSUPPORTED, not a
     * fault. */
    cudaError_t error = cudaLibraryLoadData(&kernel->library, text, NULL, NULL, 0, NULL, NULL, 0);

    if (error == cudaErrorUnsupportedPtxVersion || error == cudaErrorJitCompilerNotFound)
        FAIL_OUT(STATUS_UNSUPPORTED, "the driver cannot compile the PTX of %s: %s", name,
                 cudaGetErrorName(error));
    TRY_OUT(errors_check(error, "cudaLibraryLoadData", __FILE__, __LINE__));
    CUDA_OUT(cudaLibraryGetKernel(&kernel->handle, kernel->library, name));
    *result = &kernel->base;

out:
    if (status != STATUS_OK)
        cuda_ptx_free(&kernel->base);
    return status;
}

void cuda_ptx_free(struct ptx_kernel *base)
{
    struct cuda_ptx *kernel = (struct cuda_ptx *)base;

    if (kernel->library != NULL && cuda_enter((struct cuda_device *)base->device) == STATUS_OK &&
        cudaLibraryUnload(kernel->library) != cudaSuccess)
        (void)cudaGetLastError();
    free(kernel);
}

enum status cuda_ptx_launch(struct stream *base, struct ptx_kernel *kernel,
                            const struct ptx_launch *launch)
{
    struct cuda_stream *stream = (struct cuda_stream *)base;
    const unsigned *blocks = launch->blocks, *threads = launch->threads;
    struct dim3 grid = { blocks[0], blocks[1], blocks[2] };
    struct dim3 block = { threads[0], threads[1], threads[2] };

    TRY(cuda_enter((struct cuda_device *)base->device));
    TRY(capture_allows(&stream->capture, stream->id));
    CUDA(cudaLaunchKernel((const void *)((struct cuda_ptx *)kernel)->handle, grid, block,
                          launch->arguments, 0, stream->handle));

    return STATUS_OK;
}
#endif
