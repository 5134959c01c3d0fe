// Inclusive sums of each block's 256 numbers, by doubling distances in shared memory. Block: 256.
enum { COUNT = 256 };

extern "C" __global__ void scan(const int *in, int *out)
{
    __shared__ int sums[2][COUNT];
    int from = 0, i = threadIdx.x;

    sums[0][i] = in[blockIdx.x * COUNT + i];
    for (int distance = 1; distance < COUNT; distance *= 2) {
        __syncthreads();
        sums[1 - from][i] = sums[from][i] + (i >= distance ? sums[from][i - distance] : 0);
        from = 1 - from;
    }
    out[blockIdx.x * COUNT + i] = sums[from][i];
}
