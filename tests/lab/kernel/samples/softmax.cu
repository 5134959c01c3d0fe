// The softmax of each row, a warp per row. Block: 128; grid: rows / 4.
extern "C" __global__ void softmax(const float *__restrict__ in, float *__restrict__ out,
                                   int columns)
{
    int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float most = -3.0e38f, sum = 0.0f;

    in += row * columns;
    out += row * columns;
    for (int i = lane; i < columns; i += 32) most = fmaxf(most, in[i]);
    for (int distance = 16; distance > 0; distance /= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, distance));
    for (int i = lane; i < columns; i += 32) sum += __expf(in[i] - most);
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    for (int i = lane; i < columns; i += 32) out[i] = __expf(in[i] - most) / sum;
}
