/* One training run: opening its parts, stepping, closing. Each part of a step is a file of its own;
 * here is their order, and what a step counts.
 *
 * Parts are opened in the order in which they need each other: data, streams, memory, model, input.
 * They are closed when all work is done, those first that hold addresses of others. */
#include "harness/base/rows.h"
#include "harness/engine/step/state.h"
#include "harness/engine/step/training_parts.h"

#include "harness/base/clock.h"
#include "harness/device/many_ranks.h"

#include <stdlib.h>

/* Batches are loaded into pinned memory. */
static bool loads_pinned(const struct training *training)
{
    return training->config.transfer.pinned && training->config.transfer.pinned_once;
}

static enum status batch_alloc(void *context, size_t bytes, void **memory)
{
    struct training *training = context;

    return host_alloc(training->device, loads_pinned(training), bytes, memory);
}

static void batch_free(void *context, void *memory)
{
    struct training *training = context;

    host_free(training->device, loads_pinned(training), memory);
}

/* Batches that are loaded before the first step, and then stay in memory. */
static bool is_kept(const struct training *training)
{
    enum input input = training->config.loader.input;

    return input == INPUT_RESIDENT || input == INPUT_LOADED;
}

/* The loader has a batch for every worker's prefetch, for each copy in flight, and two to spare. */
static enum status open_loader(struct training *training)
{
    const struct training_config *config = &training->config;
    struct loader_config loader = config->loader;
    struct batch_memory memory = { batch_alloc, batch_free, training };
    int batches_max;

    loader.gives_way = device_properties(training->device)->shares_host_cores;
    if (is_kept(training)) {
        /* Nothing is loaded ahead that is not kept: a batch may be 100 MB of pinned memory. */
        int64_t step_samples = (int64_t)training->layout.samples * config->loader.parts;
        int count = resident_count(&training->layout,
                                   dataset_count(training->dataset, SPLIT_TRAIN) / step_samples);
        loader.input = INPUT_DECODED;
        loader.remembers = true;
        loader.prefetch = 1;
        if (loader.workers > count)
            loader.workers = count;
    } else {
        loader.first_batch = training->steps;
    }
    batches_max = loader.workers * loader.prefetch + config->transfer.batches_in_flight + 2;
    return loader_open(&training->loader, training->dataset, &loader, training->layout.samples,
                       batches_max, &memory);
}

/* Resident batches need the loader only now. */
static enum status open_input(struct training *training)
{
    TRY(open_loader(training));
    if (is_kept(training)) {
        TRY(resident_open(&training->resident, training->loader, &training->layout,
                          training->allocator, training->compute,
                          training->config.loader.input == INPUT_RESIDENT ? RESIDENT_ON_DEVICE
                          : loads_pinned(training)                        ? RESIDENT_PINNED
                                                                          : RESIDENT_PAGEABLE));
        TRY(stream_synchronize(training->compute));
        training->damaged = loader_statistics(training->loader).damaged;
        loader_close(training->loader);
        training->loader = NULL;
    }
    return transfer_open(&training->transfer, &training->config.transfer, training->compute,
                         training->allocator, &training->layout,
                         training->config.loader.input != INPUT_RESIDENT, training->loader);
}

/* Buckets move the memory of parameters and gradients, so they come before everything that keeps
 * addresses; a saved state is loaded once all of that is in place. */
static enum status open_model(struct training *training)
{
    const struct training_config *config = &training->config;

    TRY(encoder_open(&training->encoder, config, dataset_classes(training->dataset),
                     training->allocator, training->compute));
    TRY(gradient_buckets_open(&training->buckets, &config->ranks, training->encoder,
                              training->allocator, training->compute));
    TRY(pipeline_open(&training->pipeline, config, training->compute));
    TRY(optimizer_open(&training->optimizer, &config->optimizer, training->encoder->parameters,
                       training->encoder->parameter_count,
                       gradient_buckets_pieces(training->buckets), training->allocator,
                       training->compute));
    TRY(micro_batches_open(&training->micro_batches, config, &training->layout, training->encoder,
                           training->pipeline != NULL ? training->pipeline->schedule.in_flight : 1,
                           training->compute));
    if (config->saving.resume[0] != '\0')
        TRY(state_load(training));
    return periodic_open(training);
}

/* This rank's part of every batch, or of the model. */
static enum status take_part(struct training *training)
{
    struct training_config *config = &training->config;

    if (config->ranks.count != ranks_count())
        FAIL(STATUS_BAD_USAGE,
             "ranks=%d, but this process is one of %d; only train --ranks and "
             "scenarios start more",
             config->ranks.count, ranks_count());
    if (config->ranks.pipeline) {
        config->model.part = ranks_rank();
        config->model.parts = ranks_count();
    }
    config->model.expert_part = ranks_rank();
    config->model.expert_parts = ranks_count();
    config->loader.parts = config->ranks.pipeline ? 1 : ranks_count();
    config->loader.part = config->ranks.pipeline ? 0 : ranks_rank();
    /* In a pipeline every rank sees all samples, each with its part of the model. */
    config->model.batch /= config->loader.parts;
    /* uncached_rank counts ranks from 1: 0 is none of them. */
    if (config->loader.input == INPUT_CACHED && config->ranks.uncached_rank == ranks_rank() + 1)
        config->loader.input = INPUT_DECODED;

    return STATUS_OK;
}

/* No graph is captured from two streams: the CPU device refuses to wait for an event in a
 * capture. */
static enum status open_side_stream(struct training *training)
{
    const struct launch_config *config = &training->config.launch;
    struct side_stream *side = &training->side;

    if (!config->two_streams || config->mode == LAUNCH_GRAPH)
        return STATUS_OK;
    TRY(event_create(training->device, false, &side->forked));
    TRY(event_create(training->device, false, &side->joined));
    TRY(stream_create(training->device, &side->stream));
    stream_set_blocking(side->stream, config->mode == LAUNCH_BLOCKING);

    return STATUS_OK;
}

/* Events between phases of a step, at most. Each mixture exchanges four times per micro-batch, and
 * each exchange ends the phase before it. */
static int timed_phases(const struct training_config *config)
{
    int exchanges = config->model.experts > 0 ? 4 * config->model.blocks : 0;

    return 2 + (6 + 2 * exchanges) * config->launch.accumulate;
}

enum status training_open(struct training **opened, struct device *device,
                          const struct training_config *config)
{
    enum status status = STATUS_OK;
    struct training *training;

    *opened = NULL;
    TRY_OUT(rows_make(&training, 1));
    training->device = device;
    training->config = *config;
    TRY_OUT(take_part(training));
    config = &training->config;
    TRY_OUT(dataset_open(&training->dataset, &config->data));
    training->layout =
        batch_layout(training->dataset, &config->loader.batching, config->model.batch);
    TRY_OUT(stream_create(device, &training->compute));
    stream_set_blocking(training->compute, config->launch.mode == LAUNCH_BLOCKING);
    TRY_OUT(open_side_stream(training));
    TRY_OUT(phase_times_open(&training->phases, device, timed_phases(config)));
    TRY_OUT(allocator_open(&training->allocator, training->compute, &config->allocator));
    TRY_OUT(training_open_graphs(training));
    if (config->logging.profiles)
        TRY_OUT(stack_profiler_open(&training->profiler));
    TRY_OUT(open_model(training));
    TRY_OUT(open_input(training));
    TRY_OUT(stream_synchronize(training->compute));
    *opened = training;
    training = NULL;

out:
    if (status != STATUS_OK && training != NULL) {
        /* Closing may set another error. */
        struct status_error error = *status_last();
        training_close(training);
        status_raise(&error);
    }
    return status;
}

void training_close(struct training *training)
{
    if (training == NULL)
        return;
    if (training->side.stream != NULL)
        stream_synchronize(training->side.stream); /* after an error nothing has joined it */
    if (training->compute != NULL)
        stream_synchronize(training->compute);
    training_close_graphs(training);
    phase_times_close(training->phases);
    periodic_close(training);
    transfer_close(training->transfer);
    loader_close(training->loader);
    resident_close(training->resident);
    optimizer_close(training->optimizer);
    gradient_buckets_close(training->buckets);
    micro_batches_close(training->micro_batches);
    pipeline_close(training->pipeline);
    encoder_close(training->encoder);
    stack_profiler_close(training->profiler);
    allocator_close(training->allocator);
    stream_destroy(training->side.stream);
    event_destroy(training->side.forked);
    event_destroy(training->side.joined);
    stream_destroy(training->compute);
    dataset_close(training->dataset);
    free(training);
}

/* It may be called ahead of the step, so that a window can end with the next batch at hand. */
enum status training_fetch(struct training *training)
{
    enum status status = STATUS_OK;

    if (training->config.loader.input == INPUT_RESIDENT || training->ahead != NULL)
        return STATUS_OK;
    if (training->loader != NULL && loader_is_at_border(training->loader)) {
        /* At the end of an epoch a loop hears from its loader that there is no batch left, and
         * begins anew. So its step has two phases of loading, as in PyTorch, where DataLoader's
         * __next__() then raises StopIteration. */
        phase_push(training->device, "data");
        loader_end_epoch(training->loader);
        phase_pop(training->device);
    }
    phase_push(training->device, "data");
    status = transfer_reclaim(training->transfer);
    if (status == STATUS_OK && training->loader == NULL)
        training->ahead = resident_batch(training->resident, training->steps);
    else if (status == STATUS_OK)
        status = loader_next(training->loader, &training->ahead);
    phase_pop(training->device);
    return status;
}

enum status training_load(struct training *training)
{
    enum status status;
    const struct batch *batch;
    struct token_counts counts;
    int64_t begin;

    TRY(training_fetch(training));
    batch = training->ahead;
    training->ahead = NULL;
    TRY(micro_batches_take(training->micro_batches,
                           batch != NULL ? batch_lengths(&training->layout, batch->memory)
                                         : resident_lengths(training->resident, training->steps)));
    counts = micro_batches_tokens(training->micro_batches);
    training->tokens += counts.tokens;
    training->padded_tokens += counts.padded_tokens;
    training->micro_batches_taken += micro_batches_count(training->micro_batches);
    training->model_flops += micro_batches_sum(training->micro_batches, program_model_flops);
    begin = clock_ns();
    phase_push(training->device, "h2d");
    status = batch != NULL
                 ? transfer_batch(training->transfer, batch)
                 : transfer_resident(training->transfer,
                                     resident_batch(training->resident, training->steps)->memory);
    phase_pop(training->device);
    training->transfer_ns += clock_ns() - begin;
    return status;
}

struct op_context training_context(const struct training *training, int micro)
{
    const struct batch_layout *layout = &training->layout;
    const char *input = transfer_input(training->transfer);
    const struct model_shape *shape = &training->encoder->shape;
    const struct launch_config *launch = &training->config.launch;
    size_t first = (size_t)micro_batch_first(training->micro_batches, micro);
    bool sequences = training->config.data.kind == DATA_SEQUENCES;

    return (struct op_context){
        .stream = training->compute,
        .side = training->side.stream != NULL ? &training->side : NULL,
        .communication = gradient_buckets_stream(training->buckets),
        .input = input + first * layout->sample_bytes,
        .labels = (const int32_t *)(const void *)(input + layout->labels_offset) + first,
        .lengths = sequences
                       ? (const int32_t *)(const void *)(input + layout->lengths_offset) + first
                       : NULL,
        .state = optimizer_state(training->optimizer),
        .loss_ring = training_loss_ring(training),
        .loss_scale = 1 / (float)layout->samples,
        /* Gradients add up over the micro-batches of an update and over ranks: each is scaled to be
         * its part of the mean. */
        .gradient_scale = 1 / (float)((launch->one_update ? layout->samples : shape->samples) *
                                      training->config.loader.parts),
        .updates = launch->one_update ? 1 : launch->accumulate,
        .later = micro > 0,
        .spans = training->spans,
        .sums = training->sums,
        .listeners[2] = stack_profiler_listener(training->profiler),
        .accumulate = micro > 0 && launch->one_update,
    };
}

void training_stop_on(struct training *training, const volatile sig_atomic_t *stop)
{
    training->stop = stop;
}

/* The loop's own stopwatch, as a script has it: adds the step that began at `start_ns` to what is
 * reported. */
static enum status stop_timer(struct training *training, int64_t start_ns)
{
    const enum timer timer = training->config.logging.timer;

    if (timer == TIMER_NONE)
        return STATUS_OK;
    /* A script that does not wait for the device before it looks at its watch times how fast work
     * is queued. */
    if (timer != TIMER_QUEUED)
        TRY(stream_synchronize(training->compute));
    if (timer == TIMER_COLD && training->reported_steps == TIMER_COLD_STEPS)
        return STATUS_OK;
    training->reported_ns += clock_ns() - start_ns;
    training->reported_steps++;

    return STATUS_OK;
}

/* --- Rows of the step's own in a trace; operators are in program.c, memory in allocator.c --- */

enum status training_trace(struct training *training, struct trace *trace)
{
    TRY(micro_batches_trace(training->micro_batches, trace));
    allocator_trace(training->allocator, trace);
    training->trace = trace;

    return STATUS_OK;
}

/* A row for a step that began at the time `start_ns` of trace_clock(). */
static void trace_step(struct training *training, int64_t start_ns)
{
    struct token_counts counts = micro_batches_tokens(training->micro_batches);

    trace_add_step(
        training->trace,
        &(struct trace_step){ .number = training->steps,
                              .start_ns = start_ns,
                              .samples = training->layout.samples,
                              .tokens = counts.tokens,
                              .padded_tokens = counts.padded_tokens,
                              .flops = micro_batches_sum(training->micro_batches, program_flops) });
}

/* --- Steps --- */

/* `index` counts from the first step that is timed. */
static enum status run_step(struct training *training, int64_t index)
{
    enum status status = STATUS_OK;
    int64_t allocated, start_ns;

    range_push(training->device, "step");
    TRY_OUT(training_forget_losses(training));
    allocated = allocator_statistics(training->allocator).allocated_all;
    start_ns = clock_ns();
    TRY_OUT(training_load(training));
    TRY_OUT(training_submit(training));
    if (training->step_events != NULL)
        TRY_OUT(event_record(training->step_events[index], training->compute));
    TRY_OUT(stop_timer(training, start_ns));
    TRY_OUT(periodic_run(training));
    training->left_bytes += allocator_statistics(training->allocator).allocated_all - allocated;

out:
    range_pop(training->device);
    return status;
}

enum status training_run(struct training *training, int64_t steps)
{
    enum status status = STATUS_OK;

    for (int64_t i = 0; i < steps; i++) {
        int64_t start_ns = trace_clock(training->trace);
        training->times_phases = training->step_events != NULL && i == steps - 1;
        TRY_OUT(run_step(training, i));
        if (start_ns != 0)
            trace_step(training, start_ns);
        training->steps++;
        /* Ranks must do the same number of steps, so a job of several is not stopped between
         * them. */
        if (training->stop != NULL && *training->stop != 0 && ranks_count() == 1)
            break;
    }

out:
    training->times_phases = false;
    if (status != STATUS_OK)
        status_context("training step %lld", (long long)training->steps);
    return status;
}

int64_t training_steps_done(const struct training *training)
{
    return training->steps;
}

enum status training_pause(struct training *training)
{
    if (training->loader != NULL)
        loader_pause(training->loader);
    TRY(device_synchronize(training->device));
    return periodic_pause(training);
}

struct dataset_damage training_damage(const struct training *training)
{
    return dataset_damage(training->dataset);
}

int64_t training_damaged_samples(const struct training *training)
{
    if (training->loader == NULL)
        return training->damaged;
    return training->damaged + loader_statistics(training->loader).damaged;
}

double training_reads_share(const struct training *training)
{
    struct loader_statistics loader = training->loader != NULL ? loader_statistics(training->loader)
                                                               : (struct loader_statistics){ 0 };

    return loader.load_ns > 0 ? (double)loader.read_ns / (double)loader.load_ns : 0;
}

enum status training_batches_ready(const struct training *training, int64_t *ready)
{
    *ready = training->loader != NULL && training->config.loader.persistent_workers
                 ? loader_statistics(training->loader).ready
                 : 0;
    return ranks_take_first(ready, sizeof *ready);
}
