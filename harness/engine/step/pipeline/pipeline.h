/* A pipeline of ranks: each has a part of the model's blocks, and the micro-batches of a step go
 * through all of them.
 *
 * Messages are on the compute stream, so a rank computes nothing while it waits for another one,
 * and none is sent before what it carries is there. All ranks load all samples: the first needs
 * their input, the last their labels. Gradients add up in the order of micro-batches, and the norm
 * is that of all parameters, in their order: so losses are, bit for bit, those of one rank with as
 * many micro-batches. */
#ifndef HARNESS_ENGINE_STEP_PIPELINE_PIPELINE_H
#define HARNESS_ENGINE_STEP_PIPELINE_PIPELINE_H

#include "harness/engine/model/encoder.h"
#include "harness/engine/step/pipeline/pipeline_schedule.h"

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

#endif
