/* Every kernel of one storage type in one translation unit: reading CUDA's headers once for each
 * architecture takes longer than compiling the kernels. */
#include "harness/device/cuda/kernels/cuda_kernels.h"
#include "harness/device/cuda/kernels/geometry.h"
#include "kernels/dialect/kernel.h"
#include "kernels/kernels.h"

#include "kernels/checksum.kernel.c"
#include "kernels/cross_entropy.kernel.c"
#include "kernels/fill.kernel.c"
#include "kernels/image.kernel.c"
#include "kernels/model/attention.kernel.c"
#include "kernels/model/bias.kernel.c"
#include "kernels/model/embedding.kernel.c"
#include "kernels/model/experts.kernel.c"
#include "kernels/model/gelu.kernel.c"
#include "kernels/model/layernorm.kernel.c"
#include "kernels/model/residual.kernel.c"
#include "kernels/model/tiled_attention.kernel.c"
#include "kernels/optimizer.kernel.c"

static_assert((int)KERNEL_BLOCK == (int)GEOMETRY_BLOCK, "the launcher has other blocks");
static_assert((int)LANES == (int)GEOMETRY_LANES, "the launcher counts other rows per block");
static_assert(PACK * sizeof(real) == (size_t)GEOMETRY_PACK_BYTES,
              "the launcher counts other packs");

const void *const KERNEL_NAME(cuda_kernels)[] = {
#define KERNEL_ROW(name, shape, ...) (const void *)KERNEL_NAME(name),
    KERNELS(KERNEL_ROW)
#undef KERNEL_ROW
};

#ifdef REAL_F32
static __global__ void empty()
{
}

static __global__ void injected_failure()
{
    __trap();
}

const void *const cuda_kernel_empty = (const void *)empty;
const void *const cuda_kernel_failing = (const void *)injected_failure;
#endif
