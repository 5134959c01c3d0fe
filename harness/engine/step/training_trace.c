/* The training step's own rows in a trace: steps here; operators in program.c, memory in
 * allocator.c, phases by the device. */
#include "harness/engine/step/training_parts.h"

enum status training_trace(struct training *training, struct trace *trace)
{
    TRY(micro_batches_trace(training->micro_batches, trace));
    allocator_trace(training->allocator, trace);
    training->trace = trace;

    return STATUS_OK;
}

void training_trace_step(struct training *training, int64_t start_ns)
{
    struct token_counts counts = micro_batches_tokens(training->micro_batches);

    trace_add_step(training->trace,
                   &(struct trace_step){ .number = training->steps,
                                         .start_ns = start_ns,
                                         .samples = training->layout.samples,
                                         .tokens = counts.tokens,
                                         .padded_tokens = counts.padded_tokens,
                                         .flops = micro_batches_flops(training->micro_batches) });
}
