/* Matrix products by cuBLAS. */
#pragma once

#include "harness/device/cuda/cuda.h"

enum status cuda_gemms_open(struct cuda_gemms **gemms, struct cuda_device *device);
void cuda_gemms_close(struct cuda_gemms *gemms); /* NULL is allowed */

/* Makes and frees a workspace for the products of one stream or graph. */
enum status gemm_workspace_open(struct cuda_gemms *gemms, void **workspace);
void gemm_workspace_close(struct cuda_gemms *gemms, void *workspace); /* NULL is allowed */

/* For a capture: a workspace that was retired and that no work uses any more, or a new one. */
enum status gemm_workspace_take(struct cuda_gemms *gemms, void **workspace);

/* Frees a workspace without waiting: while work that is queued on the stream with this id may use
 * it, it is kept for gemm_workspace_take(), or until gemm_retired_close(), which must be called on
 * an idle device. */
void gemm_workspace_retire(struct cuda_gemms *gemms, void *workspace, uint32_t stream);
void gemm_retired_close(struct cuda_gemms *gemms);

/* The stream is about to end and has no work left. */
void gemm_forget_stream(struct cuda_gemms *gemms, struct cuda_stream *stream);
