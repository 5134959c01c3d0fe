// Each block sums its part, by halves in shared memory. Block: a power of two, at most 256.
extern "C" __global__ void reduction(const int *in, int *out, int count)
{
    __shared__ int part[256];
    int sum = 0;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        sum += in[i];
    part[threadIdx.x] = sum;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = part[0];
}
