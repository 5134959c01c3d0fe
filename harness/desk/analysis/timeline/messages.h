/* Messages between ranks: what they do with tensors, how large they are, and which of them backward
 * sends.
 *
 * Collectives that reduce gradients are launched in backward, while or after these are computed: in
 * the phase "backward", or, if no such phase is marked, from another thread than the loop's, as
 * PyTorch runs backward, or in a node of its autograd engine. If the model itself is split (tensor
 * parallelism), forward sends as many messages as backward.
 *
 * A kernel of NCCL that sends and receives does both for two ranks, or an all-to-all. PyTorch
 * states no name where several sends and receives go together (batch_isend_irecv; pytorch/pytorch,
 * issue 194693): these are taken for messages between two ranks if the trace has an operator or
 * annotation of such.
 *
 * A message's kernel also lasts while it waits for the other ranks, so only the shortest of a size
 * tells what sending it takes: a time that every message has, and one that grows with its bytes
 * (Hockney's line; kernel_table.h has the same of products). */
#pragma once

#include "harness/desk/analysis/timeline/phases.h"

enum message_kind {
    MESSAGE_OTHER,
    MESSAGE_ALL_REDUCE,
    MESSAGE_REDUCE_SCATTER,
    MESSAGE_ALL_GATHER,
    MESSAGE_BROADCAST,
    MESSAGE_POINT_TO_POINT, /* between two ranks: sends, receives, and both at once */
    MESSAGE_COUNT
};

struct message_sum {
    int64_t count, sized_count; /* sized: the trace states how large they are */
    int64_t bytes;              /* of those */
};

/* Zeros, and NAN, where the trace marks no steps or has no messages. Those whose call is not in the
 * trace, as they were launched before it began, are left out. */
struct messages {
    struct message_sum backward[MESSAGE_COUNT], elsewhere[MESSAGE_COUNT];
    int64_t backward_ns;  /* computation that backward launched: a sum of durations */
    int64_t sendings;     /* backward passes that reductions followed, or went along with */
    int64_t exchanges;    /* all-to-alls, of MESSAGE_OTHER */
    int64_t optimizer_ns; /* messages that the phase "optimizer" launched: the same */

    /* The union of messages between two ranks while nothing is computed; if there are some, with
     * all-reduces of up to 1 MiB outside backward, in which the ranks of a pipeline wait for each
     * other at its end. */
    int64_t peer_exposed_ns;

    /* Times of reductions in backward whose size is stated, apart from what grows with their bytes;
     * at most the shortest. NAN: there are none. */
    double fixed_ns, shortest_ns;
};

/* By the collective's name in PyTorch ("_reduce_scatter_base"), or else in the kernel's. */
enum message_kind message_kind_of(const char *collective, const char *kernel);

struct messages messages_of(struct arena *arena, const struct timeline *timeline,
                            const struct steps *steps, const struct phases *phases);
