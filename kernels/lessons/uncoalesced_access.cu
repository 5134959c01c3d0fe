// Lanes that read down a column: neighbours of a warp are a whole row apart.
//
// A warp's request is served in sectors of 32 bytes. Four hold 32 neighbouring floats; if each lane
// wants a float of another row, 32 are fetched, and 28 bytes of each are thrown away.
//
// out = 2 * in + 1, for a matrix of `rows` by `columns`, an element per thread. Block: 256 threads.

extern "C" __global__ void uncoalesced_access_before(const float *__restrict__ in,
                                                     float *__restrict__ out, int rows, int columns)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int row = i % rows, column = i / rows; // neighbouring lanes: neighbouring rows

    out[row * columns + column] = 2.0f * in[row * columns + column] + 1.0f;
}

extern "C" __global__ void uncoalesced_access_after(const float *__restrict__ in,
                                                    float *__restrict__ out, int rows, int columns)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int row = i / columns, column = i % columns; // neighbouring lanes: neighbouring columns

    out[row * columns + column] = 2.0f * in[row * columns + column] + 1.0f;
}
