// An atomic addition by every thread to one address.
//
// Additions to one address are done one after the other. Before, every thread of the grid adds its
// number to the sum in memory; between, lanes add up in registers, and a warp adds once; after,
// warps add up through shared memory as well, and a block adds once.
//
// *total += the sum of all floats. Block: 256 threads.

enum { THREADS = 256, WARPS = THREADS / 32 };

extern "C" __global__ void contended_atomics_before(const float *__restrict__ in,
                                                    float *__restrict__ total)
{
    atomicAdd(total, in[blockIdx.x * THREADS + threadIdx.x]);
}

extern "C" __global__ void contended_atomics_between(const float *__restrict__ in,
                                                     float *__restrict__ total)
{
    float sum = in[blockIdx.x * THREADS + threadIdx.x];

#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(total, sum);
}

extern "C" __global__ void contended_atomics_after(const float *__restrict__ in,
                                                   float *__restrict__ total)
{
    __shared__ float values[WARPS];
    float sum = in[blockIdx.x * THREADS + threadIdx.x];

#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, distance);
    if (threadIdx.x % 32 == 0)
        values[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32)
        return;
    sum = values[threadIdx.x % WARPS];
#pragma unroll
    for (int distance = WARPS / 2; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, distance);
    if (threadIdx.x == 0)
        atomicAdd(total, sum);
}
