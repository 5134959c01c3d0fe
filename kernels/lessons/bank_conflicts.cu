// A column of a tile in shared memory whose rows are as long as there are banks.
//
// Shared memory has 32 banks of 4 bytes, and serves a word of each at a time. Rows of 32 floats put
// a whole column into one bank: a request for a column takes 32 passes. Rows of 33 floats shift
// each row by a bank: one pass.
//
// The transpose of a matrix of `size` by `size`. Block: 32 by 32 threads; grid: size / 32 by size
// / 32.

enum { TILE = 32 };

extern "C" __global__ void bank_conflicts_before(const float *__restrict__ in,
                                                 float *__restrict__ out, int size)
{
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;

    tile[threadIdx.y][threadIdx.x] = in[y * size + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    out[y * size + x] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void bank_conflicts_after(const float *__restrict__ in,
                                                float *__restrict__ out, int size)
{
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;

    tile[threadIdx.y][threadIdx.x] = in[y * size + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    out[y * size + x] = tile[threadIdx.x][threadIdx.y];
}
