/* The kernels as CUDA has them, from kernels.cu: what cudaLaunchKernel takes. */
#ifndef HARNESS_DEVICE_CUDA_CUDA_KERNELS_H
#define HARNESS_DEVICE_CUDA_CUDA_KERNELS_H

#ifdef __cplusplus
extern "C" {
#endif

/* By enum kernel, one array a storage type. */
extern const void *const cuda_kernels_f32[], *const cuda_kernels_bf16[];

/* Without arguments: one that does nothing, and one that ends in a trap. */
extern const void *const cuda_kernel_empty, *const cuda_kernel_failing;

#ifdef __cplusplus
}
#endif

#endif
