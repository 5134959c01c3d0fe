/* Parameters of which each rank keeps a part, as in PyTorch's fully_shard (Zhao et al.: "PyTorch
 * FSDP", 2023; ZeRO's stage 3).
 *
 * A block is a unit, and so is what comes before the blocks, and what comes after. Its parameters
 * are one bucket of equal parts. Before the first of several passes of a unit an all-gather brings
 * the parts of all ranks into memory of the step's allocator, and after the last of them that is
 * freed: once in forward, and once more in backward. With prefetching a unit's parameters are on
 * their way while the unit before it computes; without, the device waits for them. Either has the
 * same bits as parameters that stay. */
#pragma once

#include "harness/engine/model/encoder.h"
#include "harness/engine/model/model_optimizer.h"

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
