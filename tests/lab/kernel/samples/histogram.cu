// Counts of bytes: a histogram of each block in shared memory, added to that of all. Block: 256.
extern "C" __global__ void histogram(const unsigned char *in, unsigned *bins, int count)
{
    __shared__ unsigned own[256];

    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        atomicAdd(&own[in[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
