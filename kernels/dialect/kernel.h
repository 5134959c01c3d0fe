/* The dialect in which every kernel is written, once.
 *
 * gcc compiles a kernel file as C for the CPU device, nvcc compiles the same file as CUDA, each
 * once per storage type (-DREAL_F32, -DREAL_BF16, -DREAL_F16). `real` is the storage type;
 * arithmetic is in float. A kernel takes one argument struct (the family's header) and has one of
 * three shapes:
 *
 *   KERNEL_PACKS(name, k, i) { ... }    the body computes the PACK elements from element i on
 *   KERNEL_ROWS(name, k, row) { ... }   the body computes a row: LANES threads together, by packs
 *   KERNEL_COLUMNS(name, k, c) { ... }  the body sums up the PACK columns from c on: LANES threads
 *                                       together, by rows
 *
 * In a KERNEL_COLUMNS a lane takes one `struct slice` of the pack's columns at a time, from column
 * c + SLICE_FIRST on, so that on CUDA neighbouring lanes take whole sectors of a row of floats;
 * lanes of the same slice are numbered SLICE_LANE of SLICE_LANES, and slices_sums() adds up theirs.
 *
 * KERNEL_ONE_ROW is KERNEL_ROWS for a row that is all there is: nothing else hides its latency.
 *
 * KERNEL_PACKS_WITH(name, k, i, type, value, expression) is KERNEL_PACKS whose body also gets
 * `value`, which is computed from k once per call on the CPU and once per thread on CUDA: a value
 * that all packs share, but that the compiler cannot know to be the same after a store.
 *
 * KERNEL_SPREAD and KERNEL_SPREAD_WITH are KERNEL_PACKS and KERNEL_PACKS_WITH for kernels whose
 * traffic is mostly floats beside 16-bit tensors: the body gets a `struct spread`, which
 * load_spread(), store_spread(), load_spread_floats() and store_spread_floats() take in place of an
 * index. If a lane moves 16 bytes at a time, on CUDA, each of its accesses then lies next to
 * those of the other lanes; an element is where it was.
 *
 * load() widens PACK neighbours of a tensor into a struct pack and store() narrows them back: on
 * CUDA one 16-byte access, on the CPU a vector register or two. load_floats() and store_floats() do
 * the same for float arrays that are beside tensors, and load_doubles() and store_doubles() for
 * arrays of doubles, as floats. EACH(j) visits the elements of a pack,
 * PACKS(c, width) a lane's packs of a row. row_sum() and row_max() combine one pack from each lane
 * into one number that every lane gets, lanes_sum_words() an integer from each into one; lane 0
 * writes what a row has once (`if (LANE == 0)`). Lanes are added in a fixed order.
 *
 * exponential() and quotient() are e^x and x / y for elements, in a few instructions without a
 * branch; each dialect says in what range and how exact.
 *
 * whole() keeps a difference of large numbers together, to which a small one is added.
 *
 * A CUDA row is a warp: LANES is 32, the reductions are shuffles, and there is no other
 * synchronisation. On the CPU LANES is 1.
 *
 * Counts and widths are multiples of ROW_MULTIPLE, hence of PACK. If only the first part of a
 * row counts, load_or() selects a neutral value for the rest, whose memory may hold NaN: select,
 * never multiply by a mask.
 *
 * Built with -ffast-math the compiler assumes that no float is NaN or infinite, so isnan() and
 * comparisons decide nothing here: is_finite() looks at the bits.
 *
 * Kernel files keep to what C11 and C++17 share: no compound literals, no implicit casts of void *,
 * `__restrict__` for restrict. */
#ifndef KERNELS_DIALECT_KERNEL_H
#define KERNELS_DIALECT_KERNEL_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
typedef __nv_bfloat16 bf16;
typedef __half f16;
#define KERNEL_INLINE static __device__ __forceinline__
#define KERNEL_TABLE  static __device__ const /* a constant array at file scope */
#define UNROLLED      _Pragma("unroll")
#else
typedef struct {
    uint16_t bits;
} bf16;
typedef struct {
    uint16_t bits;
} f16;
#define KERNEL_INLINE static inline __attribute__((always_inline))
#define KERNEL_TABLE  static const
/* Unrolled whole, the 16 elements of an fp32 pack become scalar code before gcc looks for vectors:
 * gelu 7 times slower. 32 elements are above gcc's limit for that. */
#ifdef REAL_F32
#define UNROLLED _Pragma("GCC unroll 1")
#else
#define UNROLLED
#endif
#endif

#if defined REAL_F32
typedef float real;
#define KERNEL_NAME(name) PASTE(name, _f32)
#elif defined REAL_BF16
typedef bf16 real;
#define KERNEL_NAME(name) PASTE(name, _bf16)
#elif defined REAL_F16
typedef f16 real;
#define KERNEL_NAME(name) PASTE(name, _f16)
#else
#error "Compile a kernel file with -DREAL_F32, -DREAL_BF16 or -DREAL_F16"
#endif

/* The CPU's packs are 64 bytes of storage, a cache line; twice that costs 1.5 to 4 times in fp32.
 * AHEAD: slices that a lane of a COLUMNS kernel loads before it adds the first; 1: none, as gcc
 * would keep them in memory. KEPT: packs of a row that a lane keeps in fp32 between passes, in
 * registers or in the first-level cache. */
#ifdef __CUDACC__
enum {
    LANES = 32,
    PACK = 16 / sizeof(real),
    TILE = 1,
    AHEAD = 2 * PACK,
    KEPT = 256 / (LANES * PACK)
};
#define LANE ((int)(threadIdx.x % LANES))
#else
enum { LANES = 1, PACK = 64 / sizeof(real), TILE = 64, AHEAD = 1, KEPT = 1088 / PACK };
#define LANE 0
#endif

struct pack {
    float v[PACK];
};

#define EACH(j)         UNROLLED for (int j = 0; j < PACK; j++)
#define PACKS(c, width) for (int c = LANE * PACK; c < (width); c += LANES * PACK)

/* Pack p of KEPT that a lane keeps of a row, at column c. */
#define KEPT_PACKS(p, c, width)                                                                    \
    UNROLLED for (int p = 0, c = LANE * PACK; p < KEPT && c < (width); p++, c += LANES * PACK)

/* Column sums: a lane's tiles of a row, and pack t of TILE in the tile at c, which begins at column
 * c + t * PACK. A tile stays in registers (CUDA) or in the first-level cache (the CPU, where narrow
 * tiles would jump from row to row) while the rows go by. */
#define TILES(c, width)         for (int c = LANE * PACK; c < (width); c += LANES * PACK * TILE)
#define TILE_PACKS(t, c, width) for (int t = 0; t < TILE && (c) + t * PACK < (width); t++)

/* The part that a row of the grid covers if partial column sums are computed: `rows` rows from
 * `first` on, of them `columns` columns from `column` on, into row `part` of the partial sums. */
struct column_block {
    long part, first;
    int rows, column, columns;
};

/* The size that launchers can carry: arguments are copied into the queue, and a graph freezes
 * them. */
enum { KERNEL_ARGUMENT_BYTES = 112 };
#ifdef __cplusplus
#define KERNEL_ASSERT static_assert
#else
#define KERNEL_ASSERT _Static_assert
#endif

KERNEL_INLINE uint32_t float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

KERNEL_INLINE float bits_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

KERNEL_INLINE int is_finite(float x)
{
    return (float_bits(x) & 0x7f800000u) != 0x7f800000u;
}

KERNEL_INLINE float larger(float a, float b)
{
    return a > b ? a : b;
}

KERNEL_INLINE int smaller_int(long a, long b)
{
    return (int)(a < b ? a : b);
}

/* Block `index` of a matrix [rows, width] in blocks of at most chunk x columns, the blocks of the
 * same rows next to each other. */
KERNEL_INLINE struct column_block find_column_block(long index, int rows, int width, int chunk,
                                                    int columns)
{
    int tiles = (width + columns - 1) / columns, tile = (int)index % tiles;
    struct column_block block;

    block.part = (int)index / tiles;
    block.first = block.part * chunk;
    block.rows = smaller_int(chunk, rows - block.first);
    block.column = tile * columns;
    block.columns = smaller_int(columns, width - block.column);
    return block;
}

KERNEL_INLINE struct pack pack_of(float value)
{
    struct pack pack;
    EACH(j) pack.v[j] = value;
    return pack;
}

#ifdef __CUDACC__
#include "kernels/dialect/kernel_cuda.h"
#else
#include "kernels/dialect/kernel_cpu.h"
#endif

/* The first `count` elements of a pack (of none if count <= 0), the others `fill`. */
KERNEL_INLINE struct pack load_or(const real *from, int count, float fill)
{
    struct pack pack = load(from);
    EACH(j) pack.v[j] = j < count ? pack.v[j] : fill;
    return pack;
}

#endif
