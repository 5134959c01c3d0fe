// 16-bit rows whose length is no multiple of 8.
//
// Matrix libraries fetch what tensor cores take 16 bytes at a time. Rows of 1001 numbers begin at
// any even address, so only loads of 2 bytes are right for all of them, and the fast kernels are
// left out. Padded to 1008, a multiple of 8, every row begins at a multiple of 16 bytes.
//
// out[row] = the product of a row of a matrix of fp16 and a vector, both padded in the same way; a
// warp has a row. Block: 256 threads; grid: rows / 8.

#include <cuda_fp16.h>

enum { LENGTH = 1001, PADDED = 1008, EACH = 8, PACKS = PADDED / EACH, LANES = 32 };

static __device__ void write_sum(float *out, int row, float sum)
{
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, distance);
    if (threadIdx.x % LANES == 0)
        out[row] = sum;
}

static __device__ float product(const __half *matrix, const __half *vector, int row, int i)
{
    return __half2float(matrix[row * LENGTH + i]) * __half2float(vector[i]);
}

static __device__ float pack_product(const uint4 *matrix, const uint4 *vector, int row, int i)
{
    uint4 x = matrix[row * PACKS + i], y = vector[i];
    const __half *a = (const __half *)&x, *b = (const __half *)&y;
    float sum = 0.0f;

#pragma unroll
    for (int n = 0; n < EACH; n++) sum += __half2float(a[n]) * __half2float(b[n]);
    return sum;
}

extern "C" __global__ void tensor_core_shapes_before(const __half *__restrict__ matrix,
                                                     const __half *__restrict__ vector,
                                                     float *__restrict__ out)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    float sum = 0.0f;

#pragma unroll
    for (int n = 0; n < LENGTH / LANES; n++) sum += product(matrix, vector, row, n * LANES + lane);
    if (lane < LENGTH % LANES)
        sum += product(matrix, vector, row, LENGTH / LANES * LANES + lane);
    write_sum(out, row, sum);
}

extern "C" __global__ void tensor_core_shapes_after(const uint4 *__restrict__ matrix,
                                                    const uint4 *__restrict__ vector,
                                                    float *__restrict__ out)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    float sum = 0.0f;

#pragma unroll
    for (int n = 0; n < PACKS / LANES; n++)
        sum += pack_product(matrix, vector, row, n * LANES + lane);
    if (lane < PACKS % LANES)
        sum += pack_product(matrix, vector, row, PACKS / LANES * LANES + lane);
    write_sum(out, row, sum);
}
