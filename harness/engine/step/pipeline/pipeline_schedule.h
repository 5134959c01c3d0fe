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
#ifndef HARNESS_ENGINE_STEP_PIPELINE_PIPELINE_SCHEDULE_H
#define HARNESS_ENGINE_STEP_PIPELINE_PIPELINE_SCHEDULE_H

#include "harness/base/status.h"

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

#endif
