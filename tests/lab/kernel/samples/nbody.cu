// The accelerations of bodies (x, y, z, mass) by all others, each thread by itself. Block: 128.
extern "C" __global__ void nbody(const float4 *__restrict__ bodies, float4 *__restrict__ out,
                                 int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 own = bodies[i];
    float x = 0.0f, y = 0.0f, z = 0.0f;

    for (int k = 0; k < count; k++) {
        float4 other = bodies[k];
        float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
        float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
        float strength = other.w * inverse * inverse * inverse;
        x += strength * dx;
        y += strength * dy;
        z += strength * dz;
    }
    out[i] = make_float4(x, y, z, 0.0f);
}
