// Ten kernels with a mistake each, which the machine must name at its line: "// here".

extern "C" __global__ void missing_barrier(const int *in, int *out)
{
    __shared__ int own[128];

    own[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = own[127 - threadIdx.x]; // here
}

extern "C" __global__ void second_barrier_missing(const int *in, int *out, int rounds)
{
    __shared__ int own[128];

    for (int round = 0; round < rounds; round++) {
        own[threadIdx.x] = in[threadIdx.x] + round;
        __syncthreads();
        out[threadIdx.x] = own[127 - threadIdx.x]; // here
    }
}

extern "C" __global__ void barrier_in_branch(int *out)
{
    if (threadIdx.x < 40) {
        __syncthreads(); // here
        out[threadIdx.x] = 1;
    }
}

extern "C" __global__ void one_too_many(const int *in, int *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i <= count)
        out[i] = in[i]; // here
}

extern "C" __global__ void negative_index(const float *in, float *out)
{
    int i = threadIdx.x;

    out[i] = in[i] + in[i - 1]; // here
}

extern "C" __global__ void beyond_the_tile(float *out)
{
    __shared__ float tile[8][8];

    tile[threadIdx.x / 8][threadIdx.x % 8] = 1.0f; // here
    __syncthreads();
    out[threadIdx.x] = tile[0][0];
}

extern "C" __global__ void unwritten_shared(int *out)
{
    __shared__ int own[64];

    if (threadIdx.x < 32)
        own[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = own[threadIdx.x]; // here
}

extern "C" __global__ void lost_update(int *counter)
{
    *counter += 1; // here
}

extern "C" __global__ void blocks_race(int *values)
{
    int i = threadIdx.x;

    if (blockIdx.x == 0)
        values[i] = 1;
    else
        values[i + 32] = values[i]; // here
}

extern "C" __global__ void odd_float4(const float *in, float4 *out)
{
    out[threadIdx.x] = *(const float4 *)(in + 1 + 4 * threadIdx.x); // here
}
