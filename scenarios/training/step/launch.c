/* Queueing a step's device work: op by op, or as one graph that was captured once. */
#include "scenarios/training/step/training_parts.h"

#include "harness/base/clock.h"

enum { EAGER_STEPS = 2 }; /* before a graph is captured: pools fill, primitives are made */

/* Forward, backward and optimizer of one step: what a graph captures. */
static enum status queue_step(struct training *training)
{
    enum status status = STATUS_OK;

    TRY(optimizer_begin(training->optimizer));
    for (int micro = 0; micro < training->config.launch.accumulate; micro++) {
        struct op_context context = training_context(training, micro);
        const struct encoder *encoder = micro_batch_encoder(training->micro_batches, micro);
        TRY(program_run(encoder->train, &context, training->allocator, NULL,
                        training_loss_graphs(training)));
    }
    phase_push(training->device, "optimizer");
    status = optimizer_update(training->optimizer);
    phase_pop(training->device);

out:
    return status;
}

/* A capture must be ended even when something in it failed; the first error is the one to report. */
static enum status capture(struct training *training)
{
    enum status status = STATUS_OK, ended;
    struct status_error error;

    TRY(graph_begin(training->compute));
    status = queue_step(training);
    if (status != STATUS_OK)
        error = *status_last();
    ended = graph_end(training->compute, &training->graph);
    allocator_keep(training->allocator, training->graph != NULL);
    if (status != STATUS_OK)
        status_raise(&error);
    else
        TRY(ended);

out:
    if (status != STATUS_OK)
        status_context("capturing step %lld", (long long)training->steps);
    return status;
}

enum status training_submit(struct training *training)
{
    bool graph = training->config.launch.mode == LAUNCH_GRAPH;
    int64_t begin;
    enum status status = STATUS_OK;

    if (graph && training->graph == NULL && training->steps - training->first_step >= EAGER_STEPS)
        TRY(capture(training));
    begin = clock_ns();
    if (training->graph != NULL) {
        phase_push(training->device, "graph");
        status = graph_launch(training->compute, training->graph);
        phase_pop(training->device);
        TRY(status);
    } else {
        TRY(queue_step(training));
    }
    training->submission_ns += clock_ns() - begin;

out:
    return status;
}
