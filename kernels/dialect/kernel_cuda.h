/* The kernel dialect on CUDA, for nvcc. Part of kernel.h.
 *
 * Each kernel becomes __global__ void NAME_f32(struct NAME arguments, long count): one thread per
 * pack, or one warp per row or pack of columns, in blocks of whole warps; only the launcher knows
 * the grid. */
#pragma once

KERNEL_INLINE float widen(float x)
{
    return x;
}

KERNEL_INLINE float widen(bf16 x)
{
    return __bfloat162float(x);
}

KERNEL_INLINE float widen(f16 x)
{
    return __half2float(x);
}

/* 16 bytes of storage, which one access moves: PACK elements in four words. */
struct __align__(16) words
{
    uint32_t v[4];
};

/* 16-bit numbers go in pairs, the first of two in the lower half of a word. An instruction narrows
 * both, each to nearest even as __float2bfloat16_rn() and __float2half_rn() do ("CUDA Math API",
 * "Bfloat16 Precision Conversion and Data Movement", and the same of half); to widen a bf16 is to
 * shift, as it is the upper half of a float. One at a time takes up to twice the instructions. */
KERNEL_INLINE struct words narrow_pack(struct pack pack)
{
    struct words words;
    UNROLLED for (int w = 0; w < 4; w++)
    {
#ifdef REAL_BF16
        __nv_bfloat162 pair = __floats2bfloat162_rn(pack.v[2 * w], pack.v[2 * w + 1]);
        memcpy(&words.v[w], &pair, sizeof pair);
#elif defined REAL_F16
        __half2 pair = __floats2half2_rn(pack.v[2 * w], pack.v[2 * w + 1]);
        memcpy(&words.v[w], &pair, sizeof pair);
#else
        words.v[w] = float_bits(pack.v[w]);
#endif
    }
    return words;
}

KERNEL_INLINE struct pack widen_pack(struct words words)
{
    struct pack pack;
    UNROLLED for (int w = 0; w < 4; w++)
    {
#ifdef REAL_BF16
        pack.v[2 * w] = bits_float(words.v[w] << 16);
        pack.v[2 * w + 1] = bits_float(words.v[w] & 0xffff0000u);
#elif defined REAL_F16
        __half2 pair;
        memcpy(&pair, &words.v[w], sizeof pair);
        float2 both = __half22float2(pair);
        pack.v[2 * w] = both.x;
        pack.v[2 * w + 1] = both.y;
#else
        pack.v[w] = bits_float(words.v[w]);
#endif
    }
    return pack;
}

/* Only the CPU's compiler takes sums apart. */
KERNEL_INLINE float whole(float x)
{
    return x;
}

/* narrow_pack() takes every NaN here. */
KERNEL_INLINE float settled(float x)
{
    return x;
}

/* One access of 16 bytes each. A store of a struct is scattered into its members, and the compiler
 * puts them together again only if it can tell how the address is aligned (nvcc 13.0 cannot
 * if heads are reordered); so stores are written in PTX. `memory` keeps later loads behind
 * them. */
KERNEL_INLINE struct words load_words(const void *from)
{
    __builtin_assume(__isGlobal(from));
    return *(const struct words *)from;
}

KERNEL_INLINE void store_words(void *to, struct words words)
{
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)),
                 "r"(words.v[0]), "r"(words.v[1]), "r"(words.v[2]), "r"(words.v[3])
                 : "memory");
}

KERNEL_INLINE struct pack load(const real *from)
{
    return widen_pack(load_words(from));
}

KERNEL_INLINE void store(real *to, struct pack pack)
{
    store_words(to, narrow_pack(pack));
}

/* The value that load() gives after store(). */
KERNEL_INLINE struct pack stored_value(struct pack pack)
{
    return widen_pack(narrow_pack(pack));
}

KERNEL_INLINE struct pack load_floats(const float *from)
{
    struct pack pack;
    UNROLLED for (int j = 0; j < PACK; j += 4)
    {
        struct words four = load_words(from + j);
        UNROLLED for (int w = 0; w < 4; w++) pack.v[j + w] = bits_float(four.v[w]);
    }
    return pack;
}

KERNEL_INLINE void store_floats(float *to, struct pack pack)
{
    UNROLLED for (int j = 0; j < PACK; j += 4)
    {
        struct words four;
        UNROLLED for (int w = 0; w < 4; w++) four.v[w] = float_bits(pack.v[j + w]);
        store_words(to + j, four);
    }
}

KERNEL_INLINE struct pack load_doubles(const double *from)
{
    struct pack pack;
    UNROLLED for (int j = 0; j < PACK; j += 2)
    {
        struct words two = load_words(from + j);
        UNROLLED for (int w = 0; w < 2; w++) pack.v[j + w] =
            (float)__hiloint2double((int)two.v[2 * w + 1], (int)two.v[2 * w]);
    }
    return pack;
}

KERNEL_INLINE void store_doubles(double *to, struct pack pack)
{
    UNROLLED for (int j = 0; j < PACK; j += 2)
    {
        struct words two;
        UNROLLED for (int w = 0; w < 2; w++)
        {
            double x = (double)pack.v[j + w];
            two.v[2 * w] = (uint32_t)__double2loint(x);
            two.v[2 * w + 1] = (uint32_t)__double2hiint(x);
        }
        store_words(to + j, two);
    }
}

/* A lane's pack of 16-bit elements stands beside 32 bytes of floats: two accesses, which in 16 bits
 * would each take half of every sector. Spread over the warp's elements, 16 bytes of floats of a
 * lane lie next to those of its neighbours, and 8 of a tensor do: the first four elements of a pack
 * at `first`, the others `apart` from them. The last elements of a count, too few for a warp, stay
 * together. How far apart is a constant in either case, so that it takes no registers. */
struct spread {
    long first;
    int apart;
};

/* Whether the warp of the lane whose pack begins at i has LANES packs of the count. */
#define fills_warp(i, count) (PACK > 4 && (i)-LANE * PACK + LANES * PACK <= (count))

KERNEL_INLINE struct spread spread_from(long first, int apart)
{
    struct spread spread = { first, apart };
    return spread;
}

#define spread_far(i)  spread_from((i)-LANE *PACK + LANE * 4, LANES * 4)
#define spread_near(i) spread_from(i, 4)

KERNEL_INLINE struct pack load_spread_floats(const float *from, struct spread at)
{
    struct pack pack;
    UNROLLED for (int j = 0; j < PACK; j += 4)
    {
        struct words four = load_words(from + at.first + j / 4 * at.apart);
        UNROLLED for (int w = 0; w < 4; w++) pack.v[j + w] = bits_float(four.v[w]);
    }
    return pack;
}

KERNEL_INLINE void store_spread_floats(float *to, struct spread at, struct pack pack)
{
    UNROLLED for (int j = 0; j < PACK; j += 4)
    {
        struct words four;
        UNROLLED for (int w = 0; w < 4; w++) four.v[w] = float_bits(pack.v[j + w]);
        store_words(to + at.first + j / 4 * at.apart, four);
    }
}

#ifdef REAL_F32
KERNEL_INLINE struct pack load_spread(const real *from, struct spread at)
{
    return load(from + at.first);
}

KERNEL_INLINE void store_spread(real *to, struct spread at, struct pack pack)
{
    store(to + at.first, pack);
}
#else
/* Two words at a time. */
struct __align__(8) half_words
{
    uint32_t v[2];
};

KERNEL_INLINE struct half_words load_half(const real *from)
{
    __builtin_assume(__isGlobal(from));
    return *(const struct half_words *)from;
}

KERNEL_INLINE void store_half(real *to, uint32_t a, uint32_t b)
{
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)), "r"(a),
                 "r"(b)
                 : "memory");
}

KERNEL_INLINE struct pack load_spread(const real *from, struct spread at)
{
    struct half_words low = load_half(from + at.first),
                      high = load_half(from + at.first + at.apart);
    struct words words = { { low.v[0], low.v[1], high.v[0], high.v[1] } };
    return widen_pack(words);
}

KERNEL_INLINE void store_spread(real *to, struct spread at, struct pack pack)
{
    struct words words = narrow_pack(pack);
    store_half(to + at.first, words.v[0], words.v[1]);
    store_half(to + at.first + at.apart, words.v[2], words.v[3]);
}
#endif

KERNEL_INLINE float lanes_sum(float x)
{
    UNROLLED for (int away = LANES / 2; away > 0; away /= 2) x +=
        __shfl_xor_sync(0xffffffffu, x, away);
    return x;
}

KERNEL_INLINE uint32_t lanes_sum_words(uint32_t x)
{
    UNROLLED for (int away = LANES / 2; away > 0; away /= 2) x +=
        __shfl_xor_sync(0xffffffffu, x, away);
    return x;
}

/* A slice: the floats that one access loads. In 16 bits two neighbouring lanes have the two slices
 * of a pack. */
enum { SLICE = 4, SLICES = PACK / SLICE, SLICE_LANES = LANES / SLICES };
#define SLICE_LANE       (LANE / SLICES)
#define SLICE_FIRST      (LANE % SLICES * SLICE)
#define EACH_OF_SLICE(j) UNROLLED for (int j = 0; j < SLICE; j++)

struct slice {
    float v[SLICE];
};

KERNEL_INLINE struct slice slice_of(float value)
{
    struct slice slice = { { value, value, value, value } };
    return slice;
}

KERNEL_INLINE struct slice load_slice_floats(const float *from)
{
    struct words four = load_words(from);
    struct slice slice;
    EACH_OF_SLICE(j) slice.v[j] = bits_float(four.v[j]);
    return slice;
}

#ifdef REAL_F32
KERNEL_INLINE struct slice load_slice(const real *from)
{
    return load_slice_floats(from);
}

KERNEL_INLINE void store_slice(real *to, struct slice slice)
{
    struct words four;
    EACH_OF_SLICE(j) four.v[j] = float_bits(slice.v[j]);
    store_words(to, four);
}
#else
KERNEL_INLINE struct slice load_slice(const real *from)
{
    struct half_words half = load_half(from);
    struct words words = { { half.v[0], half.v[1], 0, 0 } };
    struct pack pack = widen_pack(words);
    struct slice slice;
    EACH_OF_SLICE(j) slice.v[j] = pack.v[j];
    return slice;
}

KERNEL_INLINE void store_slice(real *to, struct slice slice)
{
    struct pack pack = { { slice.v[0], slice.v[1], slice.v[2], slice.v[3] } };
    struct words words = narrow_pack(pack);
    store_half(to, words.v[0], words.v[1]);
}
#endif

KERNEL_INLINE struct slice slices_sums(struct slice slice)
{
    EACH_OF_SLICE(j)
    {
        UNROLLED for (int away = LANES / 2; away >= SLICES; away /= 2) slice.v[j] +=
            __shfl_xor_sync(0xffffffffu, slice.v[j], away);
    }
    return slice;
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

/* e^x = 2^(x / ln 2). The instruction is exact to 2 units in the last place ("CUDA C++ Programming
 * Guide", "Mathematical Functions": exp2f), rounding the product adds |x| / 2; results below 2^-126
 * are 0. expf() is exact to 1, in three times the instructions. */
KERNEL_INLINE float exponential(float x)
{
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * 1.44269504f));
    return power;
}

/* x / y of finite x and of y within 2^-126 and 2^126, to nearest but for rare cases: what `/`
 * computes, without its second way for all other numbers, which costs a test and a branch for each
 * element. */
KERNEL_INLINE float quotient(float x, float y)
{
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(y));
    float rough = x * inverse;
    return rough + inverse * (x - y * rough);
}

enum { KERNEL_BLOCK = 256 }; /* the launcher's */

#define KERNEL_FUNCTION_WITHIN(name, bounds)                                                       \
    KERNEL_ASSERT(sizeof(struct name) <= KERNEL_ARGUMENT_BYTES,                                    \
                  "arguments of a kernel: 112 bytes");                                             \
    extern "C" __global__ void bounds KERNEL_NAME(name)(                                           \
        const __grid_constant__ struct name arguments, long count)
#define KERNEL_FUNCTION(name) KERNEL_FUNCTION_WITHIN(name, )
#define KERNEL_THREAD         (blockIdx.x * (long)blockDim.x + threadIdx.x)

/* Two blocks per SM are more than some grids have. Told so, ptxas spends registers on
 * loads ahead: 16 instead of 4 on their way in columns_finish_bf16. */
#define KERNEL_SMALL_GRID __launch_bounds__(KERNEL_BLOCK, 2)

#define KERNEL_ROWS_WITHIN(name, k, row, bounds)                                                   \
    KERNEL_INLINE void name##_row(const struct name *k, long row);                                 \
    KERNEL_FUNCTION_WITHIN(name, bounds)                                                           \
    {                                                                                              \
        long index = KERNEL_THREAD / LANES;                                                        \
        if (index < count)                                                                         \
            name##_row(&arguments, index);                                                         \
    }                                                                                              \
    KERNEL_INLINE void name##_row(const struct name *k, long row)
#define KERNEL_ROWS(name, k, row)    KERNEL_ROWS_WITHIN(name, k, row, )
#define KERNEL_ONE_ROW(name, k, row) KERNEL_ROWS_WITHIN(name, k, row, KERNEL_SMALL_GRID)

#define KERNEL_COLUMNS(name, k, c)                                                                 \
    KERNEL_INLINE void name##_columns(const struct name *k, long c);                               \
    KERNEL_FUNCTION_WITHIN(name, KERNEL_SMALL_GRID)                                                \
    {                                                                                              \
        long index = KERNEL_THREAD / LANES * PACK;                                                 \
        if (index < count)                                                                         \
            name##_columns(&arguments, index);                                                     \
    }                                                                                              \
    KERNEL_INLINE void name##_columns(const struct name *k, long c)

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

#define KERNEL_SPREAD(name, k, at)                                                                 \
    KERNEL_INLINE void name##_spread(const struct name *k, struct spread at);                      \
    KERNEL_FUNCTION(name)                                                                          \
    {                                                                                              \
        long index = KERNEL_THREAD * PACK;                                                         \
        if (fills_warp(index, count))                                                              \
            name##_spread(&arguments, spread_far(index));                                          \
        else if (index < count)                                                                    \
            name##_spread(&arguments, spread_near(index));                                         \
    }                                                                                              \
    KERNEL_INLINE void name##_spread(const struct name *k, struct spread at)

#define KERNEL_SPREAD_WITH(name, k, at, type, value, expression)                                   \
    KERNEL_INLINE void name##_spread(const struct name *k, struct spread at, type value);          \
    KERNEL_FUNCTION(name)                                                                          \
    {                                                                                              \
        const struct name *k = &arguments;                                                         \
        long index = KERNEL_THREAD * PACK;                                                         \
        if (fills_warp(index, count))                                                              \
            name##_spread(k, spread_far(index), expression);                                       \
        else if (index < count)                                                                    \
            name##_spread(k, spread_near(index), expression);                                      \
    }                                                                                              \
    KERNEL_INLINE void name##_spread(const struct name *k, struct spread at, type value)
