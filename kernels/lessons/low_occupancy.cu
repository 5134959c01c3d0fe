// Shared memory for the largest case, where a small one is at hand.
//
// A multiprocessor holds as many blocks as its registers, shared memory and places for warps allow.
// With 40 KiB for each block of 128 threads, a few blocks use up shared memory, and most places for
// warps stay empty: nothing is there to go on with while a warp waits for memory.
//
// Each block reverses its 128 floats. Block: 128 threads.

enum { THREADS = 128, LARGEST = 10240 };

extern "C" __global__ void low_occupancy_before(const float *__restrict__ in,
                                                float *__restrict__ out)
{
    __shared__ float values[LARGEST];
    int first = blockIdx.x * THREADS;

    values[threadIdx.x] = in[first + threadIdx.x];
    __syncthreads();
    out[first + threadIdx.x] = values[THREADS - 1 - threadIdx.x];
}

extern "C" __global__ void low_occupancy_after(const float *__restrict__ in,
                                               float *__restrict__ out)
{
    __shared__ float values[THREADS];
    int first = blockIdx.x * THREADS;

    values[threadIdx.x] = in[first + threadIdx.x];
    __syncthreads();
    out[first + threadIdx.x] = values[THREADS - 1 - threadIdx.x];
}
