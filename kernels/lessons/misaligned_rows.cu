// Rows that do not begin where a sector begins.
//
// Seven of eight rows of 129 floats begin inside a sector of 32 bytes, so a request for 32 of them
// touches a fifth sector. A pitch of 136, a multiple of 8, lets every row begin with a sector.
//
// out = 2 * in + 1, for the first 128 columns of each row, all of one pitch. Block: 128 threads.

enum { COLUMNS = 128, PITCH_BEFORE = 129, PITCH_AFTER = 136 };

extern "C" __global__ void misaligned_rows_before(const float *__restrict__ in,
                                                  float *__restrict__ out)
{
    int i = blockIdx.x * PITCH_BEFORE + threadIdx.x;

    out[i] = 2.0f * in[i] + 1.0f;
}

extern "C" __global__ void misaligned_rows_after(const float *__restrict__ in,
                                                 float *__restrict__ out)
{
    int i = blockIdx.x * PITCH_AFTER + threadIdx.x;

    out[i] = 2.0f * in[i] + 1.0f;
}
