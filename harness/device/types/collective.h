/* Collectives: what the devices of all ranks compute together; and messages between two of them. */
#pragma once

#include "harness/device/types/dtype.h"

#include <stdbool.h>
#include <stdint.h>

/* Id, and the name in records of communication (PyTorch's "Collective name"). */
#define COLLECTIVES(X)                                                                             \
    X(ALL_REDUCE, "allreduce")                                                                     \
    X(REDUCE_SCATTER, "_reduce_scatter_base")                                                      \
    X(ALL_GATHER, "_allgather_base")                                                               \
    X(BROADCAST, "broadcast")                                                                      \
    X(ALL_TO_ALL, "all_to_allv")                                                                   \
    X(SEND, "send")                                                                                \
    X(RECV, "recv")                                                                                \
    X(SEND_RECV, "batch_isend_irecv")

enum collective_kind {
#define COLLECTIVE_ID(id, name) COLLECTIVE_##id,
    COLLECTIVES(COLLECTIVE_ID)
#undef COLLECTIVE_ID
        COLLECTIVE_COUNT
};

/* Elements of `data` that go to a rank, and of `received` that come from it. */
struct collective_piece {
    int64_t sent_first, sent;
    int64_t received_first, received;
};

/* In place on `count` elements of device memory. Rank r's part of R ranks is the r-th of R equal
 * ones: reduce-scatter leaves the sum in that part and anything in the others, all-gather takes
 * that part of each rank; `count` must be a multiple of R for these two. Broadcast takes what rank
 * 0 has.
 *
 * A sum has the same bits on every rank. The CPU device adds in fp32 and in the order of ranks,
 * element by element, and rounds the sum to its type once, so each run has the same bits too. On
 * CUDA the order is NCCL's: it depends on how the GPUs are connected, and on the algorithm, which
 * NCCL chooses by the count among others (NVIDIA/nccl, issues 157 and 855). Where these are the
 * same, runs agree, but for sums made in the switch (NVLS, issue 1497; NCCL_NVLS_ENABLE=0 does
 * without). The sum of two ranks has one order only.
 *
 * All-to-all sends a piece of `data` to each rank, itself included, and receives one from each in
 * `received`, of any lengths that both sides have agreed on; `count` is all that this rank sends. A
 * rank may have several pieces.
 *
 * The last three are between this rank and `peer` alone, and each waits for its counterpart there:
 * a SEND for a RECV of as much. So two ranks that both send first wait for ever; SEND_RECV does
 * both at once (ncclGroupStart()). */
struct collective {
    enum collective_kind kind;
    void *data; /* RECV fills it */
    int64_t count;
    enum dtype dtype; /* 0: fp32 */
    int peer;
    void *received; /* SEND_RECV: as much comes from `peer` to here. ALL_TO_ALL: see above */
    /* ALL_TO_ALL: [ranks, rank_pieces]; they must stay until the collective is done. */
    const struct collective_piece *pieces;
    int rank_pieces;
};

static inline bool collective_has_peer(const struct collective *collective)
{
    return collective->kind >= COLLECTIVE_SEND;
}

/* Elements that come to `received` of an all-to-all, from `ranks` ranks. */
static inline int64_t collective_received(const struct collective *collective, int ranks)
{
    int64_t count = 0;

    for (int i = 0; i < ranks * collective->rank_pieces; i++)
        count += collective->pieces[i].received;
    return count;
}
