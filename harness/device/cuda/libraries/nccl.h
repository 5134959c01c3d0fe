/* NCCL, which lets GPUs of many ranks communicate: loaded when a device of such a rank is opened,
 * and needed by no other.
 *
 * libnccl.so.2 and its header come with neither the toolkit nor the driver, so what is used of them
 * is declared here ("NCCL API", docs.nvidia.com/deeplearning/nccl/user-guide/docs/api.html).
 * test_nccl compares it with nccl.h, where that is installed. */
#pragma once

#include "harness/base/status.h"

#include <driver_types.h>
#include <stddef.h>

/* ncclUniqueId */
struct nccl_id {
    char bytes[128];
};

typedef struct nccl_communicator *nccl_comm; /* ncclComm_t */

/* ncclResult_t */
enum nccl_result {
    NCCL_SUCCESS,
    NCCL_UNHANDLED_CUDA_ERROR,
    NCCL_SYSTEM_ERROR,
    NCCL_INTERNAL_ERROR,
    NCCL_INVALID_ARGUMENT,
    NCCL_INVALID_USAGE,
    NCCL_REMOTE_ERROR,
    NCCL_IN_PROGRESS,
};

/* ncclDataType_t, ncclRedOp_t */
enum { NCCL_FLOAT16 = 6, NCCL_FLOAT32 = 7, NCCL_BFLOAT16 = 9, NCCL_SUM = 0 };

/* The functions in use, with their parameters. All return ncclResult_t. */
#define NCCL_CALLS(X)                                                                              \
    X(ncclGetVersion, (int *version))                                                              \
    X(ncclGetUniqueId, (struct nccl_id * id))                                                      \
    X(ncclCommInitRank, (nccl_comm * comm, int ranks, struct nccl_id id, int rank))                \
    X(ncclCommGetAsyncError, (nccl_comm comm, enum nccl_result * error))                           \
    X(ncclCommDestroy, (nccl_comm comm))                                                           \
    X(ncclCommAbort, (nccl_comm comm))                                                             \
    X(ncclAllReduce, (const void *send, void *receive, size_t count, int type, int operation,      \
                      nccl_comm comm, cudaStream_t stream))                                        \
    X(ncclReduceScatter, (const void *send, void *receive, size_t count_of_rank, int type,         \
                          int operation, nccl_comm comm, cudaStream_t stream))                     \
    X(ncclAllGather, (const void *send, void *receive, size_t count_of_rank, int type,             \
                      nccl_comm comm, cudaStream_t stream))                                        \
    X(ncclBroadcast, (const void *send, void *receive, size_t count, int type, int root,           \
                      nccl_comm comm, cudaStream_t stream))                                        \
    X(ncclSend,                                                                                    \
      (const void *send, size_t count, int type, int peer, nccl_comm comm, cudaStream_t stream))   \
    X(ncclRecv,                                                                                    \
      (void *receive, size_t count, int type, int peer, nccl_comm comm, cudaStream_t stream))      \
    X(ncclGroupStart, (void))                                                                      \
    X(ncclGroupEnd, (void))

/* Called by their own names. */
struct nccl {
#define NCCL_MEMBER(symbol, parameters) enum nccl_result(*symbol) parameters;
    NCCL_CALLS(NCCL_MEMBER)
#undef NCCL_MEMBER
    const char *(*ncclGetErrorString)(enum nccl_result result);
    const char *(*ncclGetLastError)(nccl_comm comm); /* of the process, whatever `comm` is */
};

/* Loads the library once for the process (plugin/library.h). NO_LIBRARY says what is missing. */
enum status nccl_load(const struct nccl **nccl);

/* OK, or a failure that names the call (cut from an expression), what NCCL says of the error and of
 * its last one, and its version. BAD_USAGE: ncclInvalidUsage, as where two ranks have the same GPU.
 * INTERNAL: we asked wrongly. */
enum status nccl_check(const struct nccl *nccl, enum nccl_result result, const char *call);
