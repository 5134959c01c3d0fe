/* The kernel dialect on CUDA, for nvcc. Part of kernel.h.
 *
 * Each kernel becomes __global__ void NAME_f32(struct NAME arguments, long count): one thread per
 * pack, or one warp per row, in blocks of whole warps; only the launcher knows the grid. */
#ifndef KERNELS_KERNEL_CUDA_H
#define KERNELS_KERNEL_CUDA_H

KERNEL_INLINE float widen(float x)
{
    return x;
}

KERNEL_INLINE float widen(bf16 x)
{
    return __bfloat162float(x);
}

KERNEL_INLINE real narrow(float x)
{
#ifdef REAL_BF16
    return __float2bfloat16_rn(x);
#else
    return x;
#endif
}

/* The elements that one 16-byte access moves. */
struct __align__(16) packed
{
    real v[PACK];
};

/* narrow() takes every NaN here. */
KERNEL_INLINE float settled(float x)
{
    return x;
}

KERNEL_INLINE struct pack load(const real *from)
{
    struct packed packed = *(const struct packed *)from;
    struct pack pack;
    EACH(j) pack.v[j] = widen(packed.v[j]);
    return pack;
}

KERNEL_INLINE void store(real *to, struct pack pack)
{
    struct packed packed;
    EACH(j) packed.v[j] = narrow(pack.v[j]);
    *(struct packed *)to = packed;
}

KERNEL_INLINE struct pack load_floats(const float *from)
{
    struct pack pack;
    UNROLLED for (int j = 0; j < PACK; j += 4)
    {
        float4 four = *(const float4 *)(from + j);
        pack.v[j] = four.x;
        pack.v[j + 1] = four.y;
        pack.v[j + 2] = four.z;
        pack.v[j + 3] = four.w;
    }
    return pack;
}

KERNEL_INLINE void store_floats(float *to, struct pack pack)
{
    UNROLLED for (int j = 0; j < PACK; j += 4) * (float4 *)(to + j) =
        make_float4(pack.v[j], pack.v[j + 1], pack.v[j + 2], pack.v[j + 3]);
}

KERNEL_INLINE float lanes_sum(float x)
{
    UNROLLED for (int away = LANES / 2; away > 0; away /= 2) x +=
        __shfl_xor_sync(0xffffffffu, x, away);
    return x;
}

KERNEL_INLINE int lanes_any(int x)
{
    return __any_sync(0xffffffffu, x);
}

KERNEL_INLINE float row_sum(struct pack pack)
{
    float sum = 0;
    EACH(j) sum += pack.v[j];
    return lanes_sum(sum);
}

KERNEL_INLINE float row_max(struct pack pack)
{
    float max = pack.v[0];
    EACH(j) max = larger(max, pack.v[j]);
    UNROLLED for (int away = LANES / 2; away > 0; away /= 2) max =
        larger(max, __shfl_xor_sync(0xffffffffu, max, away));
    return max;
}

KERNEL_INLINE float exponential(float x)
{
    return expf(x);
}

#define KERNEL_FUNCTION(name)                                                                      \
    KERNEL_ASSERT(sizeof(struct name) <= KERNEL_ARGUMENT_BYTES,                                    \
                  "arguments of a kernel: 112 bytes");                                             \
    extern "C" __global__ void KERNEL_NAME(name)(const __grid_constant__ struct name arguments,    \
                                                 long count)
#define KERNEL_THREAD (blockIdx.x * (long)blockDim.x + threadIdx.x)

#define KERNEL_ROWS(name, k, row)                                                                  \
    KERNEL_INLINE void name##_row(const struct name *k, long row);                                 \
    KERNEL_FUNCTION(name)                                                                          \
    {                                                                                              \
        long index = KERNEL_THREAD / LANES;                                                        \
        if (index < count)                                                                         \
            name##_row(&arguments, index);                                                         \
    }                                                                                              \
    KERNEL_INLINE void name##_row(const struct name *k, long row)

#define KERNEL_PACKS(name, k, i)                                                                   \
    KERNEL_INLINE void name##_pack(const struct name *k, long i);                                  \
    KERNEL_FUNCTION(name)                                                                          \
    {                                                                                              \
        long index = KERNEL_THREAD * PACK;                                                         \
        if (index < count)                                                                         \
            name##_pack(&arguments, index);                                                        \
    }                                                                                              \
    KERNEL_INLINE void name##_pack(const struct name *k, long i)

#define KERNEL_PACKS_WITH(name, k, i, type, value, expression)                                     \
    KERNEL_INLINE void name##_pack(const struct name *k, long i, type value);                      \
    KERNEL_FUNCTION(name)                                                                          \
    {                                                                                              \
        const struct name *k = &arguments;                                                         \
        long index = KERNEL_THREAD * PACK;                                                         \
        if (index < count)                                                                         \
            name##_pack(k, index, expression);                                                     \
    }                                                                                              \
    KERNEL_INLINE void name##_pack(const struct name *k, long i, type value)

#endif
