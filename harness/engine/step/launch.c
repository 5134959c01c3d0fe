/* Queueing a step's device work: op by op, or as a graph that was captured before. queue_step() is
 * the one place that says what a step is, and a capture records what it queues.
 *
 * There is a graph for each length that samples are padded to, and for each of the two inputs: a
 * graph keeps the addresses and sizes that it was captured with. */
#include "harness/base/rows.h"
#include "harness/engine/step/training_parts.h"

#include "harness/base/clock.h"

#include <stdlib.h>

enum { EAGER_STEPS = 2 }; /* before a graph is captured: pools fill, primitives are made */

/* Marks that a phase ends here, where the step is timed. */
static enum status mark(struct training *training, struct phase_times *times,
                        enum timed_phase ended)
{
    return times == NULL ? STATUS_OK
                         : event_record(phase_times_next(times, ended), training->compute);
}

/* --- Exchanges between ranks in the middle of the passes --- */

/* A mixture of experts communicates within a pass, so the time of the pass is cut there. */
struct exchange_marks {
    struct training *training;
    struct phase_times *times;
    const struct program *program;
};

static enum status mark_exchange(void *context, int index, bool begins)
{
    struct exchange_marks *marks = context;
    struct program_entry entry = program_entry(marks->program, index);
    enum timed_phase pass = entry.backward ? TIMED_BACKWARD : TIMED_FORWARD;

    if (!entry.op->exchanges)
        return STATUS_OK;
    return mark(marks->training, marks->times, begins ? pass : TIMED_COMMUNICATION);
}

static enum status exchange_begins(void *context, int entry)
{
    return mark_exchange(context, entry, true);
}

static enum status exchange_queued(void *context, int entry)
{
    return mark_exchange(context, entry, false);
}

/* --- Passes --- */

/* `sent`: then the gradients go to the other ranks. */
static enum status queue_passes(struct training *training, struct phase_times *times, int micro,
                                bool sent)
{
    struct op_context context = training_context(training, micro);
    const struct encoder *encoder = micro_batch_encoder(training->micro_batches, micro);
    struct exchange_marks marks = { training, times, encoder->train };
    const struct pass_listener listener = { exchange_begins, exchange_queued, &marks };

    if (sent)
        context.listeners[0] = gradient_buckets_listener(training->buckets);
    context.listeners[1] =
        parameter_shards_listener(gradient_buckets_shards(training->buckets), PROGRAM_TRAIN);
    if (times != NULL)
        context.listeners[3] = &listener;
    if (times != NULL)
        context.forward_end = phase_times_next(times, TIMED_FORWARD);
    TRY(tensor_sums_add_memory(training->sums, "its copy to the device", "input", "",
                               transfer_input(training->transfer), training->layout.bytes));
    TRY(program_run(encoder->train, &context, training->allocator, NULL,
                    training_loss_graphs(training)));
    TRY(tensor_sums_add_memory(training->sums, "loss", "losses_of_steps", "",
                               training_loss_ring(training), LOSS_RING * sizeof(float)));
    return mark(training, times, TIMED_BACKWARD);
}

/* The optimizer is a phase and, in a graph, a span of nodes. */
static enum status queue_update(struct training *training, struct phase_times *times)
{
    enum status status;
    int node = graph_captured_nodes(training->compute);

    phase_push(training->device, "optimizer");
    status = optimizer_update(training->optimizer);
    phase_pop(training->device);
    TRY(status);
    TRY(optimizer_sum_update(training->optimizer, training->sums));
    graph_spans_add(training->spans, "optimizer", node, graph_captured_nodes(training->compute));
    return mark(training, times, TIMED_OPTIMIZER);
}

static enum status begin_update(struct training *training)
{
    TRY(optimizer_begin(training->optimizer));
    return optimizer_sum_state(training->optimizer, training->sums);
}

/* --- A pipeline --- */

/* The model of a micro-batch that a message is of; NULL: it is of none. */
static const struct encoder *model_of(const struct training *training, int micro)
{
    return micro == PIPELINE_NOTHING ? NULL : micro_batch_encoder(training->micro_batches, micro);
}

/* The passes of this rank's part of the model, and what it exchanges with its neighbours. */
static enum status queue_pipeline(struct training *training, struct phase_times *times)
{
    const struct pipeline_schedule *schedule = &training->pipeline->schedule;

    TRY(begin_update(training));
    for (int i = 0; i < schedule->count; i++) {
        const struct pipeline_action *action = &schedule->actions[i];
        if (action->kind != PIPELINE_MESSAGE) {
            struct op_context context = training_context(training, action->micro);
            const bool backward = action->kind == PIPELINE_BACKWARD;
            TRY(program_run_half(model_of(training, action->micro)->train, backward, &context,
                                 training->allocator, training_loss_graphs(training)));
            TRY(mark(training, times, backward ? TIMED_BACKWARD : TIMED_FORWARD));
            continue;
        }
        TRY(pipeline_exchange(training->pipeline, action->peer, model_of(training, action->sent),
                              model_of(training, action->received)));
        TRY(mark(training, times, TIMED_COMMUNICATION));
    }
    return queue_update(training, times);
}

/* --- Steps --- */

/* Forward, backward and optimizer of one step: what a graph captures. `times`: NULL to time no
 * phase. */
static enum status queue_step(struct training *training, struct phase_times *times)
{
    const struct launch_config *config = &training->config.launch;
    int count = micro_batches_count(training->micro_batches);
    int updated = config->one_update ? count : 1; /* micro-batches per update */

    if (times != NULL)
        phase_times_restart(times);
    TRY(mark(training, times, TIMED_NONE));
    if (training->pipeline != NULL)
        return queue_pipeline(training, times);
    for (int micro = 0; micro < count; micro++) {
        bool last = (micro + 1) % updated == 0;
        bool sent = last || !training->config.ranks.one_sync;
        if (micro % updated == 0)
            TRY(begin_update(training));
        TRY(queue_passes(training, times, micro, sent));
        if (sent && training->buckets != NULL) { /* The gradients become those of all ranks. */
            TRY(gradient_buckets_finish(training->buckets, !last));
            TRY(mark(training, times, TIMED_COMMUNICATION));
        }
        if (!last)
            continue;
        TRY(queue_update(training, times));
        if (gradient_buckets_are_shared(training->buckets)) { /* Others have updated parameters. */
            TRY(gradient_buckets_gather(training->buckets));
            TRY(mark(training, times, TIMED_COMMUNICATION));
        }
    }
    tensor_sums_step_end(training->sums);

    return STATUS_OK;
}

/* During a capture the device cannot be asked for memory. If steps of other lengths have since
 * added to the allocator's, blocks are cut in another way, and even a step that has run before may
 * need more. Where the cache is emptied, nothing of it may be left. */
static enum status reserve_for_capture(struct training *training, struct step_graph *own)
{
    if (training->config.allocator.empty_cache_every == 0 &&
        (training->layout.tokens == 0 ||
         own->device_allocations == allocator_statistics(training->allocator).device_allocations))
        return STATUS_OK;
    TRY(program_reserve(micro_batch_encoder(training->micro_batches, 0)->train,
                        training->allocator));
    own->device_allocations = allocator_statistics(training->allocator).device_allocations;

    return STATUS_OK;
}

/* A capture must be ended even when something in it failed; the first error is the one to
 * report. */
static enum status capture(struct training *training, struct step_graph *own)
{
    enum status status = STATUS_OK, ended;
    struct status_error error;
    struct graph_notes *notes;

    TRY_OUT(reserve_for_capture(training, own));
    TRY_OUT(rows_make(&notes, 1));
    notes->next = training->notes;
    training->notes = notes;
    /* From here on passes note which nodes are theirs. */
    own->spans = training->spans = &notes->spans;
    TRY_OUT(graph_begin(training->compute));
    status = queue_step(training, training->phases);
    training->spans = NULL;
    if (status != STATUS_OK)
        error = *status_last();
    ended = graph_end(training->compute, &own->graph);
    training->captures += own->graph != NULL;
    if (own->graph != NULL)
        /* A graph holds addresses in segments, which must not go back to the device. */
        allocator_keep(training->allocator, true);
    if (status != STATUS_OK)
        status_raise(&error);
    else
        TRY_OUT(ended);

out:
    training->spans = NULL;
    if (status != STATUS_OK)
        status_context("capturing step %lld", (long long)training->steps);
    return status;
}

static int graph_count(const struct training *training)
{
    return (training->config.model.tokens + 1) * TRANSFER_INPUTS;
}

static void release_notes(struct training *training)
{
    while (training->notes != NULL) {
        struct graph_notes *notes = training->notes;
        training->notes = notes->next;
        graph_spans_release(&notes->spans);
        free(notes);
    }
}

/* Without a trace nothing keeps pointers to the spans of graphs that are gone. */
static void destroy_graphs(struct training *training)
{
    if (training->trace == NULL)
        release_notes(training);
    for (int i = 0; i < graph_count(training); i++) {
        graph_destroy(training->graphs[i].graph);
        training->graphs[i].graph = NULL;
    }
}

enum status training_submit(struct training *training)
{
    const struct encoder *encoder = micro_batch_encoder(training->micro_batches, 0);
    struct step_graph *first = &training->graphs[encoder->shape.tokens * TRANSFER_INPUTS];
    struct step_graph *own = first + transfer_input_number(training->transfer);
    int64_t begin = clock_ns();

    /* The first steps of a length run op by op and warm up what a capture could not do. */
    if (training->config.launch.mode == LAUNCH_GRAPH && own->graph == NULL &&
        first->steps >= EAGER_STEPS) {
        if (training->config.launch.graphs == GRAPHS_LATEST && training->captures > 0) {
            /* The graph that is kept no longer may still be running. PyTorch waits for the device
             * before a capture, too. */
            TRY(stream_synchronize(training->compute));
            destroy_graphs(training);
        }
        TRY(capture(training, own));
    }
    first->steps++; /* steps of this length; both inputs count together */
    if (own->graph != NULL) {
        int64_t start_ns = trace_clock(training->trace);
        enum status status;
        phase_push(training->device, "graph");
        status = graph_launch(training->compute, own->graph);
        phase_pop(training->device);
        trace_add_replay(training->trace, own->spans, start_ns);
        TRY(status);
    } else {
        TRY(queue_step(training, training->times_phases ? training->phases : NULL));
    }
    TRY(transfer_consumed(training->transfer));
    training->submission_ns += clock_ns() - begin;

    return STATUS_OK;
}

enum status training_open_graphs(struct training *training)
{
    return rows_make(&training->graphs, graph_count(training));
}

void training_close_graphs(struct training *training)
{
    release_notes(training);
    if (training->graphs != NULL)
        destroy_graphs(training);
    free(training->graphs);
}
