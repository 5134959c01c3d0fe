/* The micro-batches of the step under way: how many tokens each computes, and with which ops.
 *
 * Ops are made for one shape. If micro-batches are padded to their longest sample only, the model
 * exists once for each length that has come up, with max_tokens for each number of samples too, and
 * all have the same parameters. In a pipeline it exists once for each micro-batch in flight, and
 * they take turns. */
#pragma once

#include "harness/engine/data/batch.h"
#include "harness/engine/model/encoder.h"
#include "harness/recording/buffer.h"

struct micro_batches;

/* `longest` is the model at its full length, and lives longer; so does `stream`. `in_flight`
 * micro-batches, at least one, have activations at once. */
enum status micro_batches_open(struct micro_batches **opened, const struct training_config *config,
                               const struct batch_layout *layout, const struct encoder *longest,
                               int in_flight, struct stream *stream);

/* The work of all models must be done. NULL is allowed. */
void micro_batches_close(struct micro_batches *micro_batches);

/* Takes note of the lengths of a step's samples, and makes the models that are still missing. */
enum status micro_batches_take(struct micro_batches *micro_batches, const int32_t *lengths);

/* How many the step has. */
int micro_batches_count(const struct micro_batches *micro_batches);

/* The model of one, and the number of its first sample in the step's batch. */
int micro_batch_first(const struct micro_batches *micro_batches, int micro);
const struct encoder *micro_batch_encoder(const struct micro_batches *micro_batches, int micro);

/* The step's tokens with data, and those that are padding. */
struct token_counts {
    int64_t tokens, padded_tokens;
};
struct token_counts micro_batches_tokens(const struct micro_batches *micro_batches);

/* A sum over all micro-batches of the step: program_flops(), program_model_flops() or
 * program_bytes(). */
int64_t micro_batches_sum(const struct micro_batches *micro_batches,
                          int64_t (*of)(const struct program *program));

/* program_trace() for all models, those that are made later included. */
enum status micro_batches_trace(struct micro_batches *micro_batches, struct trace *trace);
