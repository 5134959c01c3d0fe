/* Matrix products by cuBLAS. */
#ifndef HARNESS_DEVICE_CUDA_GEMM_H
#define HARNESS_DEVICE_CUDA_GEMM_H

#include "harness/device/cuda/cuda.h"

enum status gemms_open(struct gemms **gemms, struct cuda_device *device);
void gemms_close(struct gemms *gemms); /* NULL is allowed */

/* A new workspace for the products of one stream or graph, and its end. */
enum status gemm_workspace_open(struct gemms *gemms, void **workspace);
void gemm_workspace_close(struct gemms *gemms, void *workspace); /* NULL is allowed */

/* The same without waiting: while the device has work left, which may use it, the workspace is kept
 * until gemm_retired_close(), which wants the device idle. */
void gemm_workspace_retire(struct gemms *gemms, void *workspace);
void gemm_retired_close(struct gemms *gemms);

/* The stream is about to end and has no work left. */
void gemm_forget_stream(struct gemms *gemms, struct cuda_stream *stream);

#endif
