// Loads and stores of 4 bytes a lane where 16 would do.
//
// Both variants move the same sectors. The one before asks for them in four times as many requests:
// each costs an instruction, an address and a place in the queue of the load and store unit.
//
// out = 2 * in + 1, for 1024 floats per block. Block: 256 threads.

enum { EACH = 4 };

extern "C" __global__ void scalar_access_before(const float *__restrict__ in,
                                                float *__restrict__ out)
{
    int first = blockIdx.x * blockDim.x * EACH + threadIdx.x;

    for (int n = 0; n < EACH; n++) {
        int i = first + n * blockDim.x;
        out[i] = 2.0f * in[i] + 1.0f;
    }
}

extern "C" __global__ void scalar_access_after(const float4 *__restrict__ in,
                                               float4 *__restrict__ out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 x = in[i];

    out[i] =
        make_float4(2.0f * x.x + 1.0f, 2.0f * x.y + 1.0f, 2.0f * x.z + 1.0f, 2.0f * x.w + 1.0f);
}
