/* Kernel launches. The table of kernels is made from the one list in kernels.h; the functions are
 * built by nvcc from kernels/, once per storage type.
 *
 * A block has 256 threads whatever the kernel: kernels share nothing between warps, so the block's
 * size decides only how many of them an SM is given at a time. */
#include "harness/base/clock.h"
#include "harness/base/figures/statistics.h"
#include "harness/device/cuda/cuda.h"
#include "harness/device/cuda/kernels/cuda_kernels.h"
#include "harness/device/cuda/kernels/geometry.h"

#include <stdio.h>
#include <stdlib.h>

#define SHAPE_ROWS    GEOMETRY_ROWS
#define SHAPE_PACKS   GEOMETRY_PACKS
#define SHAPE_COLUMNS GEOMETRY_COLUMNS
static const struct {
    const char *name;
    enum geometry_shape shape;
} kernels[KERNEL_COUNT] = {
#define KERNEL_ROW(name, shape, ...) { #name, SHAPE_##shape },
    KERNELS(KERNEL_ROW)
#undef KERNEL_ROW
};

/* By storage type, in the order of the list of kernels. */
static const void *const *const kernels_of[DTYPE_COUNT] = {
    [DTYPE_F32] = cuda_kernels_f32,
    [DTYPE_BF16] = cuda_kernels_bf16,
    [DTYPE_F16] = cuda_kernels_f16,
};

static enum status launch(struct cuda_stream *stream, const void *kernel, int64_t blocks,
                          int threads, void **arguments)
{
    struct dim3 grid = { (unsigned)blocks, 1, 1 }, block = { (unsigned)threads, 1, 1 };

    CUDA(cudaLaunchKernel(kernel, grid, block, arguments, 0, stream->handle));

    return STATUS_OK;
}

enum status cuda_launch(struct stream *base, enum kernel kernel, enum dtype dtype, long count,
                        const void *arguments, size_t size)
{
    struct cuda_stream *stream = (struct cuda_stream *)base;
    void *parameters[] = { (void *)arguments, &count };
    int64_t blocks;

    (void)size; /* The runtime knows it from the kernel. */
    TRY(cuda_enter((struct cuda_device *)base->device));
    TRY(capture_allows(&stream->capture, stream->id));
    if (kernel == (enum kernel)DRIVER_KERNEL_FAILS) {
        errors_note_injected();
        return launch(stream, cuda_kernel_failing, 1, 1, NULL);
    }
    blocks = geometry_blocks(kernels[kernel].shape, dtype_bytes(dtype), count);
    if (blocks > GEOMETRY_BLOCKS_MAX)
        FAIL(STATUS_BAD_USAGE, "launch of %s: a count of %ld needs %lld blocks; a grid has %d",
             kernels[kernel].name, count, (long long)blocks, GEOMETRY_BLOCKS_MAX);
    TRY(launch(stream, kernels_of[dtype][kernel], blocks, GEOMETRY_BLOCK, parameters));

    return STATUS_OK;
}

/* --- At the opening --- */

/* Loads a kernel, so that none is loaded in a timed window, or in a capture.
 * "CUDA C++ Programming Guide", "Lazy Loading": asking for a kernel's attributes loads it. */
static enum status load(const struct cuda_device *device, const void *kernel,
                        struct cudaFuncAttributes *attributes)
{
    int capability = device->base.properties.compute_capability;
    cudaError_t error = cudaFuncGetAttributes(attributes, kernel);

    if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction ||
        error == cudaErrorUnsupportedPtxVersion || error == cudaErrorJitCompilerNotFound)
        FAIL(STATUS_UNSUPPORTED,
             "cuda:%d: the kernels here were built for the compute capabilities %s, and %s has %d; "
             "build with -DCHOKEPOINT_CUDA_ARCHITECTURES=%d (%s)",
             device->base.properties.index, CHOKEPOINT_CUDA_ARCHITECTURES,
             device->base.properties.name, capability, capability, cudaGetErrorName(error));
    TRY(errors_check(error, "cudaFuncGetAttributes", __FILE__, __LINE__));

    return STATUS_OK;
}

enum status launch_load_kernels(const struct cuda_device *device, char *isa, size_t size)
{
    struct cudaFuncAttributes attributes;

    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
        for (int kernel = 0; kernel < KERNEL_COUNT; kernel++) {
            TRY(load(device, kernels_of[dtype][kernel], &attributes));
            if (attributes.maxThreadsPerBlock < GEOMETRY_BLOCK)
                FAIL(STATUS_UNSUPPORTED,
                     "kernel %s uses too many registers for blocks of %d threads on %s",
                     kernels[kernel].name, GEOMETRY_BLOCK, device->base.properties.name);
        }
    snprintf(isa, size, "sm_%d", attributes.binaryVersion);
    TRY(load(device, cuda_kernel_empty, &attributes));
    TRY(load(device, cuda_kernel_failing, &attributes));

    return STATUS_OK;
}

/* Over runs that are short enough never to fill the queue, whose length is not documented. The
 * GPU's clocks need not be raised for it: this is the host's time to queue work, and waiting for
 * its end is not in it. */
enum status launch_measure(struct cuda_device *device, double *launch_ns)
{
    enum { RUNS = 15, LAUNCHES = 64 };
    enum status status = STATUS_OK;
    struct stream *stream = NULL;
    double ns[RUNS];

    TRY_OUT(cuda_stream_create(&device->base, &stream));
    for (int run = 0; run < RUNS; run++) {
        int64_t start_ns = clock_ns();
        for (int i = 0; i < LAUNCHES; i++)
            TRY_OUT(launch((struct cuda_stream *)stream, cuda_kernel_empty, 1, 1, NULL));
        ns[run] = (double)(clock_ns() - start_ns) / LAUNCHES;
        TRY_OUT(cuda_stream_synchronize(stream));
    }
    *launch_ns = stats_median(ns, RUNS);

out:
    if (stream != NULL)
        cuda_stream_destroy(stream);
    return status;
}
