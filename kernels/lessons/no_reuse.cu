// A matrix product that fetches every number from memory as often as it is used.
//
// Before, each of a block's 8 rows of c fetches all of b for itself. After, the block fetches a
// tile of b into shared memory once, and its 8 rows use it from there: an eighth of the sectors.
//
// c = a * b, all `size` by `size`, size a multiple of 128. A thread has four neighbouring columns
// of a row of c. Block: 32 by 8 threads; grid: size / 128 by size / 8.

enum { ROWS = 8, DEPTH = 32, LANES = 32, EACH = 4 };

static __device__ void add(float4 *sum, float a, float4 b)
{
    sum->x += a * b.x;
    sum->y += a * b.y;
    sum->z += a * b.z;
    sum->w += a * b.w;
}

extern "C" __global__ void no_reuse_before(const float *__restrict__ a,
                                           const float4 *__restrict__ b, float4 *__restrict__ c,
                                           int size)
{
    int row = blockIdx.y * ROWS + threadIdx.y, column = blockIdx.x * LANES + threadIdx.x,
        pitch = size / EACH;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);

#pragma unroll 4
    for (int k = 0; k < size; k++) add(&sum, a[row * size + k], b[k * pitch + column]);
    c[row * pitch + column] = sum;
}

extern "C" __global__ void no_reuse_after(const float *__restrict__ a, const float4 *__restrict__ b,
                                          float4 *__restrict__ c, int size)
{
    __shared__ float left[ROWS][DEPTH];
    __shared__ float4 right[DEPTH][LANES];
    int row = blockIdx.y * ROWS + threadIdx.y, column = blockIdx.x * LANES + threadIdx.x,
        pitch = size / EACH;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);

    for (int from = 0; from < size; from += DEPTH) {
        left[threadIdx.y][threadIdx.x] = a[row * size + from + threadIdx.x];
#pragma unroll
        for (int k = 0; k < DEPTH; k += ROWS)
            right[k + threadIdx.y][threadIdx.x] = b[(from + k + threadIdx.y) * pitch + column];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; k++) add(&sum, left[threadIdx.y][k], right[k][threadIdx.x]);
        __syncthreads();
    }
    c[row * pitch + column] = sum;
}
