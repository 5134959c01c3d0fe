// A grid that is slightly larger than what the GPU holds at once.
//
// Blocks run in waves of as many as all multiprocessors hold. If a few blocks are left over, they
// take as long as a whole wave, and most of the GPU is idle meanwhile. Blocks of a quarter of the
// work leave a last wave that is a quarter as long.
//
// out = 2 * in + 1. Before, a block has 4 tiles of 256 float4; after, one tile, and the grid is 4
// times as large. Block: 256 threads.

enum { THREADS = 256, TILES = 4 };

static __device__ float4 of(float4 x)
{
    return make_float4(2.0f * x.x + 1.0f, 2.0f * x.y + 1.0f, 2.0f * x.z + 1.0f, 2.0f * x.w + 1.0f);
}

extern "C" __global__ void tail_effect_before(const float4 *__restrict__ in,
                                              float4 *__restrict__ out)
{
    int first = blockIdx.x * THREADS * TILES + threadIdx.x;
    float4 x[TILES];

#pragma unroll
    for (int n = 0; n < TILES; n++) x[n] = in[first + n * THREADS];
#pragma unroll
    for (int n = 0; n < TILES; n++) out[first + n * THREADS] = of(x[n]);
}

extern "C" __global__ void tail_effect_after(const float4 *__restrict__ in,
                                             float4 *__restrict__ out)
{
    int i = blockIdx.x * THREADS + threadIdx.x;

    out[i] = of(in[i]);
}
