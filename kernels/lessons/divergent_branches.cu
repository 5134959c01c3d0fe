// Lanes of one warp that take both sides of a branch.
//
// A warp executes one instruction for all of its lanes. If even lanes go one way and odd ones the
// other, it executes both ways, each with half of its lanes.
//
// Even elements become a polynomial, odd ones an inverse root. Before, a thread has one, whose kind
// decides the branch; after, it has one of each kind, without a branch. Block: 256 threads.

static __device__ float polynomial(float x)
{
    float sum = 0.0f;

#pragma unroll
    for (int n = 1; n <= 16; n++) sum = sum * x + 1.0f / n;
    return sum;
}

static __device__ float inverse_root(float x)
{
    float root = 0.125f;

#pragma unroll
    for (int n = 0; n < 8; n++) root = root * (1.5f - 0.5f * x * root * root);
    return root;
}

extern "C" __global__ void divergent_branches_before(const float *__restrict__ in,
                                                     float *__restrict__ out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];

    if (i % 2 == 0)
        out[i] = polynomial(x);
    else
        out[i] = inverse_root(x);
}

extern "C" __global__ void divergent_branches_after(const float2 *__restrict__ in,
                                                    float2 *__restrict__ out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float2 x = in[i];

    out[i] = make_float2(polynomial(x.x), inverse_root(x.y));
}
