/* How many of an SM's threads a kernel's launch can keep busy at most, by CUDA's own calculator
 * (cuda_occupancy.h), as PyTorch's profiler has it. */
#pragma once

#include "harness/device/types/activity.h"

#include <driver_types.h>

/* 0..1: min(blocks that fit an SM, blocks of the grid per SM) * threads of a block / threads of an
 * SM (Kineto's libkineto/src/DeviceProperties.cpp). `static_bytes` and `dynamic_bytes` are a
 * block's shared memory. 0 where the calculator does not know the GPU. */
float occupancy_of(const struct cudaDeviceProp *gpu, const uint32_t grid[3],
                   const uint32_t block[3], uint32_t registers, uint32_t static_bytes,
                   uint32_t dynamic_bytes);
