/* A stand-in for the CUDA runtime and for cuBLAS, so that the CUDA device's own code runs where
 * there is no GPU: its books, its rules for captures and copies, its ways out of errors.
 *
 * A stream is a thread that works off a list; kernels are nvcc's PTX, which harness/simt executes
 * with all its checks, and products are oneDNN's, as on the CPU device. The stand-in does what
 * CUDA's reference says of the calls that the device makes, as strictly as possible: unsafe calls
 * end a capture, pool memory is reused by its stream only, an error of a kernel stays. tests/gpu
 * checks that a real GPU behaves the same way. */
#pragma once

#include "harness/simt/code/simt_types.h"
#include "tests/stand_in/listener.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>

enum { STAND_IN_MESSAGES = 32 }; /* of a group of NCCL's */

/* Work on a stream. `run` is called on the stream's thread; an operation that is no node of a graph
 * is freed after it, with `owned`. */
struct operation {
    cudaError_t (*run)(struct operation *operation);
    struct operation *next;
    void *owned;
    struct stand_in_work work; /* what the listener learns of it */
    struct simt_order order;   /* set by stand_in_submit() */
    uint64_t parts;            /* how many places in the order it has besides its own */
    union {
        struct {
            void *to;
            const void *from;
            size_t bytes;
            int byte;
        } copy;
        struct {
            const struct kernel_entry *entry;
            long count;
            unsigned rows[2]; /* of the grid and of a block, of a library's kernel */
            _Alignas(16) char arguments[112];
        } kernel;
        struct {
            struct CUevent_st *event;
            long number;
        } event;
        struct {
            struct CUgraphExec_st *exec;
            long number; /* of its launches */
        } graph;
        struct {
            const void *first, *second;
            void *c;
            int m, n, k, batch, ld_first, ld_second, ld_c, type, type_c;
            long long stride_first, stride_second, stride_c;
            bool transpose_first, transpose_second;
            float beta;
            int epilogue; /* of cuBLASLt's; 0: none */
            void *bias, *aux;
            long long ld_aux;
        } product;
        struct {
            struct nccl_communicator *comm;
            const char *send;
            char *receive;
            size_t count;
            int kind, type, root;
            int message_count; /* of a group of sends and receives, or of one alone */
            struct stand_in_message {
                const char *send; /* NULL: it is received */
                char *receive;
                size_t count;
                int peer;
            } messages[STAND_IN_MESSAGES];
        } collective;
    };
};

/* Exported, for the stand-in for NCCL. */
#define STAND_IN_EXPORT __attribute__((visibility("default")))

/* Queues a copy of `operation` on the stream, or records it where the stream is being captured. */
STAND_IN_EXPORT cudaError_t stand_in_submit(cudaStream_t stream, const struct operation *operation);

/* The GPU of the calling thread. */
STAND_IN_EXPORT int stand_in_device(void);

/* The operation, on its stream, reads or writes these bytes. An error is a finding of the machine,
 * and printed. */
STAND_IN_EXPORT cudaError_t stand_in_use(const struct operation *operation, const void *memory,
                                         size_t bytes, bool store);

/* Nothing must touch these bytes, which nobody has written then, or may again: for tests, which
 * find it by its name. */
STAND_IN_EXPORT void stand_in_forbid(void *memory, size_t bytes, bool forbidden);

/* In cublas.c: queues the product that `operation` describes. */
cublasStatus_t stand_in_multiply(cudaStream_t stream, struct operation *operation,
                                 const char *name);

uint32_t stand_in_stream_id(cudaStream_t stream);
size_t stand_in_block_bytes(const void *address); /* 0: it is none */

/* In calls.c. Between begin and end the thread's calls have one correlation; 0 while nobody
 * listens. */
STAND_IN_EXPORT struct stand_in_call stand_in_begin(const char *name, bool driver);
STAND_IN_EXPORT void stand_in_end(struct stand_in_call *call);
uint32_t stand_in_correlation(void);
void stand_in_tell(const struct stand_in_work *work);
