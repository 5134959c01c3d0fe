/* Matrix products by cuBLAS. */
#ifndef HARNESS_LAB_DEVICE_CUDA_CUDA_GEMM_H
#define HARNESS_LAB_DEVICE_CUDA_CUDA_GEMM_H

#include "harness/lab/device/cuda/cuda.h"

enum status cuda_gemms_open(struct cuda_gemms **gemms, struct cuda_device *device);
void cuda_gemms_close(struct cuda_gemms *gemms); /* NULL is allowed */

/* Makes and frees a workspace for the products of one stream or graph. */
enum status gemm_workspace_open(struct cuda_gemms *gemms, void **workspace);
void gemm_workspace_close(struct cuda_gemms *gemms, void *workspace); /* NULL is allowed */

/* Frees a workspace without waiting: while queued work may use it, it is kept until gemm_retired_close(),
 * which must be called on an idle device. */
void gemm_workspace_retire(struct cuda_gemms *gemms, void *workspace);
void gemm_retired_close(struct cuda_gemms *gemms);

/* The stream is about to end and has no work left. */
void gemm_forget_stream(struct cuda_gemms *gemms, struct cuda_stream *stream);

#endif
