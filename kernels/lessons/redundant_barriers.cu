// Barriers of the whole block where a warp exchanges with itself alone.
//
// At __syncthreads() every warp of the block waits for the slowest. Here each warp uses its own 32
// floats of shared memory and no other, so what must be ordered is the warp: __syncwarp().
//
// `rounds` times, each lane takes the mean of its neighbour's number and its own. Block: 256.

enum { THREADS = 256, LANES = 32 };

extern "C" __global__ void redundant_barriers_before(const float *__restrict__ in,
                                                     float *__restrict__ out, int rounds)
{
    __shared__ float values[THREADS];
    int i = blockIdx.x * THREADS + threadIdx.x;
    int neighbour = threadIdx.x / LANES * LANES + (threadIdx.x + 1) % LANES;
    float x = in[i];

#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        values[threadIdx.x] = x;
        __syncthreads();
        x = 0.5f * x + 0.5f * values[neighbour];
        __syncthreads();
    }
    out[i] = x;
}

extern "C" __global__ void redundant_barriers_after(const float *__restrict__ in,
                                                    float *__restrict__ out, int rounds)
{
    __shared__ float values[THREADS];
    int i = blockIdx.x * THREADS + threadIdx.x;
    int neighbour = threadIdx.x / LANES * LANES + (threadIdx.x + 1) % LANES;
    float x = in[i];

#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        values[threadIdx.x] = x;
        __syncwarp();
        x = 0.5f * x + 0.5f * values[neighbour];
        __syncwarp();
    }
    out[i] = x;
}
