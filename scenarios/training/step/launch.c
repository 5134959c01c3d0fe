/* Queueing a step's device work: op by op, or as a graph that was captured before. */
#include "scenarios/training/step/training_parts.h"

#include "harness/base/clock.h"

#include <stdlib.h>

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

/* During a capture the device cannot be asked for memory. If steps of other lengths have since added to
 * the allocator's, blocks are cut in another way, and even a step that has run before may need more. */
static enum status reserve(struct training *training, struct step_graph *own)
{
    enum status status = STATUS_OK;

    if (training->layout.tokens == 0 ||
        own->device_allocations == allocator_statistics(training->allocator).device_allocations)
        goto out;
    TRY(program_reserve(micro_batch_encoder(training->micro_batches, 0)->train,
                        training->allocator));
    own->device_allocations = allocator_statistics(training->allocator).device_allocations;

out:
    return status;
}

/* A capture must be ended even when something in it failed; the first error is the one to report. */
static enum status capture(struct training *training, struct step_graph *own)
{
    enum status status = STATUS_OK, ended;
    struct status_error error;

    TRY(reserve(training, own));
    TRY(graph_begin(training->compute));
    status = queue_step(training);
    if (status != STATUS_OK)
        error = *status_last();
    ended = graph_end(training->compute, &own->graph);
    training->captures += own->graph != NULL;
    if (own->graph != NULL)
        allocator_keep(training->allocator, true);
    if (status != STATUS_OK)
        status_raise(&error);
    else
        TRY(ended);

out:
    if (status != STATUS_OK)
        status_context("capturing step %lld", (long long)training->steps);
    return status;
}

static void destroy_graphs(struct training *training)
{
    for (int i = 0; i <= training->config.model.tokens; i++) {
        graph_destroy(training->graphs[i].graph);
        training->graphs[i].graph = NULL;
    }
}

/* The graph that is kept no longer may still be running. PyTorch waits for the device before a capture,
 * too. */
static enum status make_room(struct training *training)
{
    enum status status = STATUS_OK;

    if (training->config.launch.graphs == GRAPHS_LATEST && training->captures > 0) {
        TRY(stream_synchronize(training->compute));
        destroy_graphs(training);
    }

out:
    return status;
}

enum status training_submit(struct training *training)
{
    const struct encoder *encoder = micro_batch_encoder(training->micro_batches, 0);
    struct step_graph *own = &training->graphs[encoder->shape.tokens];
    int64_t begin = clock_ns();
    enum status status = STATUS_OK;

    if (training->config.launch.mode == LAUNCH_GRAPH && own->graph == NULL &&
        own->steps >= EAGER_STEPS) {
        TRY(make_room(training));
        TRY(capture(training, own));
    }
    own->steps++;
    if (own->graph != NULL) {
        phase_push(training->device, "graph");
        status = graph_launch(training->compute, own->graph);
        phase_pop(training->device);
        TRY(status);
    } else {
        TRY(queue_step(training));
    }
    training->submission_ns += clock_ns() - begin;

out:
    return status;
}

enum status training_open_graphs(struct training *training)
{
    int lengths = training->config.model.tokens + 1;
    enum status status = STATUS_OK;

    training->graphs = calloc((size_t)lengths, sizeof *training->graphs);
    if (training->graphs == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for the graphs of %d lengths", lengths);

out:
    return status;
}

void training_close_graphs(struct training *training)
{
    if (training->graphs != NULL)
        destroy_graphs(training);
    free(training->graphs);
}
