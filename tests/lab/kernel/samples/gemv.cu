// y = A x, a thread per row: each lane walks along a row of its own. Block: 128.
extern "C" __global__ void gemv(const float *__restrict__ a, const float *__restrict__ x,
                                float *__restrict__ y, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;

    if (row >= rows)
        return;
    for (int i = 0; i < columns; i++) sum += a[row * columns + i] * x[i];
    y[row] = sum;
}
