// An array of each thread that does not stay in registers.
//
// Registers have no addresses: an array whose index is known only when the kernel runs lies in local memory, which is
// memory behind the caches, as do values that ptxas has no register left for. If loops are unrolled, so that every
// index is a constant, the array is 16 registers.
//
// A recursive filter whose 16 weights follow from the thread's number: out = sum / 2 + weight, `steps` times; steps is a
// multiple of 16. Block: 256 threads.

enum { WEIGHTS = 16 };

static __device__ void fill(float *weight, float x)
{
#pragma unroll
    for (int n = 0; n < WEIGHTS; n++) weight[n] = x * (n + 1) + 1.0f;
}

extern "C" __global__ void register_spills_before(const float *__restrict__ in,
                                                  float *__restrict__ out, int steps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float weight[WEIGHTS], sum = 0.0f;

    fill(weight, in[i]);
    for (int step = 0; step < steps; step++) sum = sum * 0.5f + weight[step % WEIGHTS];
    out[i] = sum;
}

extern "C" __global__ void register_spills_after(const float *__restrict__ in,
                                                 float *__restrict__ out, int steps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float weight[WEIGHTS], sum = 0.0f;

    fill(weight, in[i]);
    for (int step = 0; step < steps; step += WEIGHTS) {
#pragma unroll
        for (int n = 0; n < WEIGHTS; n++) sum = sum * 0.5f + weight[n];
    }
    out[i] = sum;
}
