/* Gradients of all ranks, added up in buckets.
 *
 * Tensors go into buckets in the order in which backward finishes them, until a bucket is full, as
 * in PyTorch's DistributedDataParallel; a tensor that is larger than a bucket has one alone. Every
 * bucket is one all-reduce, on a stream of its own: overlapped ones are queued as soon as the last
 * of their tensors is, the others after backward. The gradients are parts of the buckets (views),
 * or are copied into them and back. Where each element is added in the order of ranks
 * (collective.h), neither the buckets nor the moment change any bit.
 *
 * If the optimizer's state is sharded, every bucket is a reduce-scatter: a rank gets the sums of
 * its part of it, as in ZeRO (Rajbhandari et al., 2020, stage 1) and FSDP's SHARD_GRAD_OP. The
 * parameters are in buckets of their own at the same places, and an all-gather brings the parts
 * that other ranks have updated. A bucket is padded to equal parts, whose ends never cut a chunk of
 * the optimizer. If the parameters are sharded as well, a bucket is a unit of the parameter shards
 * below, which gathers them; the gradients stay whole, as under no_sync(). */
#pragma once

#include "harness/engine/model/encoder.h"
#include "harness/engine/model/model_optimizer.h"

/* Parameters of which each rank keeps a part, as in PyTorch's fully_shard (Zhao et al.: "PyTorch
 * FSDP", 2023; ZeRO's stage 3).
 *
 * A block is a unit, and so is what comes before the blocks, and what comes after. Its parameters
 * are one bucket of equal parts. Before the first of several passes of a unit an all-gather brings
 * the parts of all ranks into memory of the step's allocator, and after the last of them that is
 * freed: once in forward, and once more in backward. With prefetching a unit's parameters are on
 * their way while the unit before it computes; without, the device waits for them. Either has the
 * same bits as parameters that stay. */

/* A parameter with its gradient, and the entry of the program after which that is finished. */
struct bucket_member {
    struct parameter *parameter;
    struct tensor *gradient;
    int number; /* of the encoder's parameters */
    int unit;   /* parameter_unit() */
    int ready_at;
    int64_t offset; /* in the bucket, elements */
};

/* Parameters whose gradients travel between ranks as one, and the parameters themselves where each
 * rank keeps a part of them only. */
struct bucket {
    char *data;
    float *parameters;   /* NULL: they are where they were, or sharded */
    int64_t elements;    /* with padding */
    int first, count;    /* members */
    int ready_at;        /* the last of its members' */
    struct event *ready; /* recorded when they are */
};

struct parameter_shards;

/* Streams that compute and communicate, and the allocator of what is gathered. */
struct shard_streams {
    struct allocator *allocator;
    struct stream *compute, *communication;
};

/* The unit that an op belongs to: 0, block + 1, or blocks + 1. */
int parameter_unit(const struct encoder *encoder, const struct op *op);

/* Takes the parameters, which are fp32, their memory and values from the encoder: they have data
 * only while their unit is gathered. `buckets` are one per unit, of as many equal parts as there
 * are ranks, with `members`; `pieces`, by number of the parameter, learn where this rank's values
 * are. Everything must outlive the shards. */
enum status parameter_shards_open(struct parameter_shards **shards, bool prefetches,
                                  const struct encoder *encoder, const struct bucket *buckets,
                                  const struct bucket_member *members,
                                  struct optimizer_piece *pieces,
                                  const struct shard_streams *streams);

/* The streams' work must be done. Before the encoder is closed; NULL is allowed. */
void parameter_shards_close(struct parameter_shards *shards);

/* For the context of every run of the encoder's programs; NULL for NULL. */
const struct pass_listener *parameter_shards_listener(struct parameter_shards *shards,
                                                      enum program_kind kind);

/* Bytes that a run of the training program gathers only when a pass needs them. */
int64_t parameter_shards_late_bytes(const struct parameter_shards *shards);

struct gradient_buckets;

/* For the parameters of `encoder`, which are fp32 if the state is sharded; *buckets is NULL if
 * there is one rank, or if each has the gradients of its part of the model. It moves the gradients
 * with views, and the parameters if the state is sharded, so it comes before everybody who keeps
 * their addresses. */
enum status gradient_buckets_open(struct gradient_buckets **buckets,
                                  const struct ranks_config *config, const struct encoder *encoder,
                                  struct allocator *allocator, struct stream *compute);

/* Waits for the stream's work. Before the encoder is closed; NULL is allowed. */
void gradient_buckets_close(struct gradient_buckets *buckets);

/* For the context of the passes that finish gradients which are then sent; NULL for NULL. */
const struct pass_listener *gradient_buckets_listener(const struct gradient_buckets *buckets);

/* The piece of each of the encoder's parameters that this rank updates; NULL: all of them, as for
 * NULL. */
const struct optimizer_piece *gradient_buckets_pieces(const struct gradient_buckets *buckets);

/* The stream that gradients travel on, for what else passes send to other ranks; NULL for NULL. */
const struct side_stream *gradient_buckets_stream(const struct gradient_buckets *buckets);

/* NULL: each rank keeps all parameters. */
struct parameter_shards *gradient_buckets_shards(const struct gradient_buckets *buckets);

/* After these passes: queues the buckets that are left, and makes the compute stream wait for all.
 * `more`: another micro-batch is to be added to the sums, which are then sent again. */
enum status gradient_buckets_finish(struct gradient_buckets *buckets, bool more);

/* Bytes of the buckets that an update cannot hide behind backward: all that are queued after it,
 * and those whose last gradient is the last work of backward. */
int64_t gradient_buckets_late_bytes(const struct gradient_buckets *buckets);

/* Whether ranks wait for each other's parameters after an update; gradient_buckets_gather() then
 * queues their coming, and makes the compute stream wait for it. */
bool gradient_buckets_are_shared(const struct gradient_buckets *buckets);
enum status gradient_buckets_gather(struct gradient_buckets *buckets);
