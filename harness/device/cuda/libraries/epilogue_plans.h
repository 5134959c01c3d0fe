/* Products with epilogues, by cuBLASLt: a plan is a kernel that its heuristic has chosen for sizes,
 * types and an epilogue, and is kept until all are closed. A training step has some ten of them,
 * and as many again for each length of its sequences.
 *
 * For one thread at a time. */
#pragma once

#include "harness/device/cuda/libraries/cublas.h"
#include "harness/device/device.h"

struct epilogue_plans;
struct epilogue_plan;

/* For the current GPU; `cublas` is for messages. Products get workspaces of so many bytes. On
 * failure *plans is NULL. NO_LIBRARY. */
enum status epilogue_plans_open(struct epilogue_plans **plans, const struct cublas *cublas,
                                size_t workspace_bytes);
void epilogue_plans_close(struct epilogue_plans *plans); /* NULL is allowed */

/* UNSUPPORTED: cuBLASLt has no kernel for that, which is kept in mind, too. */
enum status epilogue_plans_find(struct epilogue_plans *plans, const struct gemm *gemm,
                                const struct epilogue_plan **plan);

/* Queues the product that the plan was found for. *result: the status that cuBLASLt returns. */
enum status epilogue_plans_multiply(struct epilogue_plans *plans, const struct epilogue_plan *plan,
                                    const struct gemm *gemm, void *workspace, cudaStream_t stream,
                                    cublasStatus_t *result);
