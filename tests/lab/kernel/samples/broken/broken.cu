// Twenty kernels with a mistake each, which the machine must name at its line: "// here".

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

extern "C" __global__ void no_syncwarp(const int *in, int *out)
{
    __shared__ int own[32];

    own[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = own[threadIdx.x ^ 1]; // here
}

extern "C" __global__ void half_a_shuffle(const int *in, int *out)
{
    int value = in[threadIdx.x];

    if (threadIdx.x < 16)
        value += __shfl_down_sync(0xffffffff, value, 8); // here
    out[threadIdx.x] = value;
}

extern "C" __global__ void all_to_one(int *out)
{
    out[0] = threadIdx.x; // here
}

extern "C" __global__ void rows_for_columns(const float *in, float *out, int width, int height)
{
    int x = threadIdx.x, y = blockIdx.x;

    if (x < width && y < height)
        out[x * width + y] = in[y * width + x]; // here
}

extern "C" __global__ void too_little_shared(const int *in, int *out)
{
    extern __shared__ int own[];

    own[2 * threadIdx.x] = in[threadIdx.x]; // here
    __syncthreads();
    out[threadIdx.x] = own[2 * threadIdx.x];
}

extern "C" __global__ void rounds_differ(const int *rounds, int *out)
{
    int sum = 0;

    for (int i = 0; i < rounds[threadIdx.x]; i++) {
        sum += i;
        __syncthreads(); // here
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void sum_in_place(int *values, int count)
{
    int i = threadIdx.x;

    if (i + 1 < count)
        values[i] += values[i + 1]; // here
}

extern "C" __global__ void histogram_of_a_block(const unsigned char *in, int *counts)
{
    __shared__ int own[16];

    if (threadIdx.x < 16)
        own[threadIdx.x] = 0;
    __syncthreads();
    own[in[threadIdx.x] & 15] += 1; // here
    __syncthreads();
    if (threadIdx.x < 16)
        atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}

extern "C" __global__ void result_of_another_block(const int *in, int *sums, int *total)
{
    atomicAdd(&sums[blockIdx.x], in[32 * blockIdx.x + threadIdx.x]);
    if (blockIdx.x == 1 && threadIdx.x == 0)
        *total = sums[0] + sums[1]; // here
}

extern "C" __global__ void wide_from_bytes(const unsigned char *in, double *out)
{
    out[threadIdx.x] = *(const double *)(in + 12 * threadIdx.x); // here
}
