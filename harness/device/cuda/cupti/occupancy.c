/* How many of a GPU's threads a launch can keep busy. Fills the structures of NVIDIA's calculator
 * with what CUDA says of the GPU and CUPTI of the launch. */
#include "harness/device/cuda/cupti/cupti_records.h"

#include <cuda_occupancy.h>
#include <limits.h>

static double product(const uint32_t size[3])
{
    return (double)size[0] * size[1] * size[2];
}

float occupancy_of(const struct cudaDeviceProp *gpu, const uint32_t grid[3],
                   const uint32_t block[3], uint32_t registers, uint32_t static_bytes,
                   uint32_t dynamic_bytes)
{
    const cudaOccDeviceProp properties = {
        .computeMajor = gpu->major,
        .computeMinor = gpu->minor,
        .maxThreadsPerBlock = gpu->maxThreadsPerBlock,
        .maxThreadsPerMultiprocessor = gpu->maxThreadsPerMultiProcessor,
        .regsPerBlock = gpu->regsPerBlock,
        .regsPerMultiprocessor = gpu->regsPerMultiprocessor,
        .warpSize = gpu->warpSize,
        .sharedMemPerBlock = gpu->sharedMemPerBlock,
        .sharedMemPerMultiprocessor = gpu->sharedMemPerMultiprocessor,
        .numSms = gpu->multiProcessorCount,
        .sharedMemPerBlockOptin = gpu->sharedMemPerBlockOptin,
        .reservedSharedMemPerBlock = gpu->reservedSharedMemPerBlock,
    };
    /* The kernel has run, so its threads, registers and shared memory are within the GPU's
     * limits. */
    const cudaOccFuncAttributes kernel = {
        .maxThreadsPerBlock = INT_MAX,
        .numRegs = (int)(registers < INT_MAX ? registers : INT_MAX),
        .sharedSizeBytes = static_bytes,
        .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
        .maxDynamicSharedSizeBytes = dynamic_bytes,
        .numBlockBarriers = 1,
    };
    const cudaOccDeviceState state = { .carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT };
    double threads = product(block), blocks;
    cudaOccResult result;

    if (!(threads >= 1 && threads <= gpu->maxThreadsPerBlock) || gpu->multiProcessorCount < 1 ||
        cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &kernel, &state, (int)threads,
                                                dynamic_bytes) != CUDA_OCC_SUCCESS)
        return 0;
    blocks = product(grid) / gpu->multiProcessorCount;
    if (blocks > result.activeBlocksPerMultiprocessor)
        blocks = result.activeBlocksPerMultiprocessor;
    return (float)(blocks * threads / gpu->maxThreadsPerMultiProcessor);
}
