/* The kernels of kernels.cu, as cudaLaunchKernel takes them. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* By enum kernel, one array per storage type. */
extern const void *const cuda_kernels_f32[], *const cuda_kernels_bf16[], *const cuda_kernels_f16[];

/* Two kernels without arguments: one does nothing, the other ends in a trap. */
extern const void *const cuda_kernel_empty, *const cuda_kernel_failing;

#ifdef __cplusplus
}
#endif
