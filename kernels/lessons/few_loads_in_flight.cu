// A loop that waits for each load before it asks for the next.
//
// A load takes hundreds of cycles. A warp that has one load on its way at a time gets 512 bytes per
// such wait; with eight on their way, 4096. The numbers are added in the same order.
//
// out = the sum of `rows` rows (a multiple of 8), four columns per thread. Block: 256 threads.

enum { AHEAD = 8 };

static __device__ void add(float4 *sum, float4 x)
{
    sum->x += x.x;
    sum->y += x.y;
    sum->z += x.z;
    sum->w += x.w;
}

extern "C" __global__ void few_loads_in_flight_before(const float4 *__restrict__ in,
                                                      float4 *__restrict__ out, int rows)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, pitch = gridDim.x * blockDim.x;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);

#pragma unroll 1
    for (int row = 0; row < rows; row++) add(&sum, in[row * pitch + column]);
    out[column] = sum;
}

extern "C" __global__ void few_loads_in_flight_after(const float4 *__restrict__ in,
                                                     float4 *__restrict__ out, int rows)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, pitch = gridDim.x * blockDim.x;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);

#pragma unroll 1
    for (int row = 0; row < rows; row += AHEAD) {
        float4 x[AHEAD];
#pragma unroll
        for (int n = 0; n < AHEAD; n++) x[n] = in[(row + n) * pitch + column];
#pragma unroll
        for (int n = 0; n < AHEAD; n++) add(&sum, x[n]);
    }
    out[column] = sum;
}
