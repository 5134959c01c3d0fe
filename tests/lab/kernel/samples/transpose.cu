// A transpose by tiles of 16 by 16, padded. Block: 16 by 16.
enum { SIDE = 16 };

extern "C" __global__ void transpose(const float *a, float *b, int width, int height)
{
    __shared__ float tile[SIDE][SIDE + 1];
    int x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y;

    if (x < width && y < height)
        tile[threadIdx.y][threadIdx.x] = a[y * width + x];
    __syncthreads();
    x = blockIdx.y * SIDE + threadIdx.x;
    y = blockIdx.x * SIDE + threadIdx.y;
    if (x < height && y < width)
        b[y * height + x] = tile[threadIdx.x][threadIdx.y];
}
