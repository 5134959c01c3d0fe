/* The training step's own rows in a trace: steps here; operators in program.c, memory in allocator.c,
 * phases by the device. */
#include "scenarios/training/step/training_parts.h"

enum status training_trace(struct training *training, struct trace *trace)
{
    enum status status = STATUS_OK;

    TRY(program_trace(training->encoder->train, trace));
    allocator_trace(training->allocator, trace);
    training->trace = trace;

out:
    return status;
}

void training_trace_input(struct training *training, const struct batch *batch)
{
    const struct training_config *config = &training->config;

    if (config->data.kind == DATA_IMAGES)
        training->tokens = (int64_t)config->model.batch * config->model.tokens;
    else if (batch != NULL)
        training->tokens = batch_tokens(&training->layout, batch->memory);
    else
        training->tokens = resident_tokens(training->resident, training->steps);
}

void training_trace_step(struct training *training, int64_t start_ns)
{
    const struct training_config *config = &training->config;
    int64_t computed = (int64_t)config->model.batch * config->model.tokens;

    trace_add_step(training->trace,
                   &(struct trace_step){ .number = training->steps,
                                         .start_ns = start_ns,
                                         .samples = training->layout.samples,
                                         .tokens = training->tokens,
                                         .padded_tokens = computed - training->tokens,
                                         .flops = program_flops(training->encoder->train) *
                                                  config->launch.accumulate });
}
