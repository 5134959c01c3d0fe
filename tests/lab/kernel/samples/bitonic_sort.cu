// Sorts each block's 512 keys in shared memory by Batcher's bitonic network. Block: 256.
enum { COUNT = 512 };

extern "C" __global__ void bitonic_sort(unsigned *keys)
{
    __shared__ unsigned own[COUNT];

    keys += blockIdx.x * COUNT;
    for (int i = threadIdx.x; i < COUNT; i += blockDim.x) own[i] = keys[i];
    for (int size = 2; size <= COUNT; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            int low = 2 * threadIdx.x - (threadIdx.x & (stride - 1)), high = low + stride;
            __syncthreads();
            unsigned a = own[low], b = own[high];
            bool rising = (low & size) == 0;
            if ((a > b) == rising) {
                own[low] = b;
                own[high] = a;
            }
        }
    __syncthreads();
    for (int i = threadIdx.x; i < COUNT; i += blockDim.x) keys[i] = own[i];
}
