/* A pipeline of ranks: each has a part of the model's blocks, and the micro-batches of a step go
 * through all of them.
 *
 * Messages are on the compute stream, so a rank computes nothing while it waits for another one,
 * and none is sent before what it carries is there. All ranks load all samples: the first needs
 * their input, the last their labels. Gradients add up in the order of micro-batches, and the norm
 * is that of all parameters, in their order: so losses are, bit for bit, those of one rank with as
 * many micro-batches. */
#pragma once

#include "harness/engine/model/encoder.h"

/* --- The order --- */

/* The order in which a rank of a pipeline works: one forward, one backward (1F1B).
 *
 * Each rank has a part of the model's blocks. Rank r runs as many forward passes ahead as ranks
 * come after it, then a forward and a backward in turns, then the backward passes that are left:
 * "PipeDream-Flush" (Narayanan et al.: "Memory-efficient pipeline-parallel DNN training", 2021), as
 * Megatron-LM has it. So the activations of at most as many micro-batches as ranks are kept.
 * Between a rank and the next one each message that could cross another goes together with it: then
 * no two ranks wait for each other (collective.h).
 *
 * If every pass takes one slot, all ranks are done after 2 (m + p - 1) slots, and each works in 2 m
 * of them: a share of (p - 1) / (m + p - 1) is idle, the pipeline's bubble (Huang et al.: "GPipe",
 * 2019). */
enum pipeline_kind { PIPELINE_FORWARD, PIPELINE_BACKWARD, PIPELINE_MESSAGE };

enum { PIPELINE_NOTHING = -1 };

/* A pass of micro-batch `micro`; or a message to and from `peer`. To the next rank go activations
 * of `sent`, and gradients of `received` come from it; to the one before it is the other way round.
 * PIPELINE_NOTHING: none goes or comes. */
struct pipeline_action {
    enum pipeline_kind kind;
    int micro;
    int peer, sent, received;
};

/* The actions of one rank. */
struct pipeline_schedule {
    struct pipeline_action *actions;
    int count;
    int in_flight; /* micro-batches whose activations are kept at once, at most; micro-batch i takes
                      the place of i - in_flight */
};

/* OUT_OF_MEMORY. */
enum status pipeline_schedule_make(struct pipeline_schedule *schedule, int rank, int ranks,
                                   int micro_batches);
void pipeline_schedule_release(struct pipeline_schedule *schedule);

/* The share of slots in which a rank of `ranks` is idle, counted in their schedules.
 * OUT_OF_MEMORY. */
enum status pipeline_idle_share(double *share, int ranks, int micro_batches);

/* --- The rank --- */

struct pipeline {
    struct pipeline_schedule schedule;
    double idle_share; /* pipeline_idle_share() */
    int rank;
    struct stream *compute;
};

/* *pipeline is NULL where the model is whole. */
enum status pipeline_open(struct pipeline **pipeline, const struct training_config *config,
                          struct stream *compute);
void pipeline_close(struct pipeline *pipeline); /* NULL is allowed */

/* A message of a pass: what goes to `peer` is of the micro-batch whose model is `sent`, what comes
 * from there is for that of `received`; NULL: nothing does. */
enum status pipeline_exchange(const struct pipeline *pipeline, int peer, const struct encoder *sent,
                              const struct encoder *received);

/* Runs the forward pass of held-out samples, from the rank before to the one after: `keep` as in
 * program_run(). */
enum status pipeline_evaluate(const struct pipeline *pipeline, const struct encoder *encoder,
                              const struct op_context *context, struct tensor *keep);
