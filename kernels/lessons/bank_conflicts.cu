// A column of a tile in shared memory whose rows are as long as there are banks.
//
// Shared memory serves a word of each of its 32 banks at a time. With rows of 32 floats a column is
// in one bank, and a request for it takes 32 passes; with 33, each row is a bank further: one pass.
//
// The transpose of a matrix of `size` by `size`. Block: 32 by 32 threads; grid: a block for a tile.

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
