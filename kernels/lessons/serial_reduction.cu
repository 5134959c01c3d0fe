// One thread that adds up what the whole block has.
//
// While thread 0 adds 256 numbers, one after the other, 31 lanes of its warp and 7 warps of its
// block do nothing. A tree in shared memory takes 8 steps, in each of which half as many threads
// add as in the one before; every step has a barrier and goes through memory. By exchanges between
// lanes, each warp adds its 32 numbers in 5 steps, and the first warp the sums of all in 3.
//
// sums[block] = the sum of the block's 256 floats. Block: 256 threads.

enum { THREADS = 256, WARPS = THREADS / 32 };

extern "C" __global__ void serial_reduction_before(const float *__restrict__ in,
                                                   float *__restrict__ sums)
{
    __shared__ float values[THREADS];

    values[threadIdx.x] = in[blockIdx.x * THREADS + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int i = 0; i < THREADS; i++) sum += values[i];
        sums[blockIdx.x] = sum;
    }
}

extern "C" __global__ void serial_reduction_between(const float *__restrict__ in,
                                                    float *__restrict__ sums)
{
    __shared__ float values[THREADS];

    values[threadIdx.x] = in[blockIdx.x * THREADS + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            values[threadIdx.x] += values[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = values[0];
}

extern "C" __global__ void serial_reduction_after(const float *__restrict__ in,
                                                  float *__restrict__ sums)
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
        sums[blockIdx.x] = sum;
}
