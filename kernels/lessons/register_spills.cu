// An array of each thread that does not stay in registers.
//
// Registers have no addresses: an array whose index is known only at run time lies in local memory,
// behind the caches. If loops are unrolled, so that every index is a constant, it is 48 registers.
// Between, the launch bound asks for 8 blocks of 256 threads on a multiprocessor, which leaves 32
// registers for a thread: ptxas spills the others. After, it may take as many as there are values.
//
// A recursive filter whose 48 weights follow from the thread's number: out = sum / 2 + weight,
// `steps` times; steps is a multiple of 48. Block: 256 threads.

enum { WEIGHTS = 48 };

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

static __device__ float filter(float x, int steps)
{
    float weight[WEIGHTS], sum = 0.0f;

    fill(weight, x);
    for (int step = 0; step < steps; step += WEIGHTS) {
#pragma unroll
        for (int n = 0; n < WEIGHTS; n++) sum = sum * 0.5f + weight[n];
    }
    return sum;
}

extern "C" __global__ void __launch_bounds__(256, 8)
    register_spills_between(const float *__restrict__ in, float *__restrict__ out, int steps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    out[i] = filter(in[i], steps);
}

extern "C" __global__ void register_spills_after(const float *__restrict__ in,
                                                 float *__restrict__ out, int steps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    out[i] = filter(in[i], steps);
}
