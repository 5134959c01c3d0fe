// Kernels whose strides are arguments: they show what a stride, a begin and the padding of rows
// change.

// Lanes that access floats `stride` apart, the first one `begin` floats behind where a sector
// begins.
extern "C" __global__ void strided_copy(const float *__restrict__ in, float *__restrict__ out,
                                        int stride, int begin)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * stride + begin;

    out[i] = in[i];
}

// A tile whose rows are `pitch` floats apart in shared memory (dynamic: blockDim.y * pitch floats),
// written by rows and read by columns. The block is as wide as it is high.
extern "C" __global__ void padded_tile(const float *__restrict__ in, float *__restrict__ out,
                                       int pitch)
{
    extern __shared__ float tile[];
    int first = blockIdx.x * blockDim.x * blockDim.y;

    tile[threadIdx.y * pitch + threadIdx.x] = in[first + threadIdx.y * blockDim.x + threadIdx.x];
    __syncthreads();
    out[first + threadIdx.y * blockDim.x + threadIdx.x] = tile[threadIdx.x * pitch + threadIdx.y];
}
