#include "harness/engine/step/pipeline/pipeline.h"

#include "harness/base/rows.h"

#include <stdlib.h>

enum status pipeline_open(struct pipeline **opened, const struct training_config *config,
                          struct stream *compute)
{
    enum status status = STATUS_OK;
    const struct model_config *model = &config->model;
    struct pipeline *pipeline = NULL;

    *opened = NULL;
    if (model->parts <= 1)
        goto out;
    TRY_OUT(rows_make(&pipeline, 1));
    pipeline->rank = model->part;
    pipeline->compute = compute;
    TRY_OUT(pipeline_schedule_make(&pipeline->schedule, model->part, model->parts,
                                   config->launch.accumulate));
    TRY_OUT(pipeline_idle_share(&pipeline->idle_share, model->parts, config->launch.accumulate));
    *opened = pipeline;
    pipeline = NULL;

out:
    pipeline_close(pipeline);
    return status;
}

void pipeline_close(struct pipeline *pipeline)
{
    if (pipeline == NULL)
        return;
    pipeline_schedule_release(&pipeline->schedule);
    free(pipeline);
}

/* To the rank after this one go activations, and their gradients come back; between this rank and
 * the one before it, the other way round. */
enum status pipeline_exchange(const struct pipeline *pipeline, int peer, const struct encoder *sent,
                              const struct encoder *received)
{
    bool after = peer > pipeline->rank;
    const struct tensor *goes = sent == NULL ? NULL : after ? sent->output : sent->stream;
    const struct tensor *comes = received == NULL ? NULL
                                 : after          ? received->stream
                                                  : received->input;
    const struct tensor *first = goes != NULL ? goes : comes;
    const struct collective message = {
        .kind = comes == NULL  ? COLLECTIVE_SEND
                : goes == NULL ? COLLECTIVE_RECV
                               : COLLECTIVE_SEND_RECV,
        .data = first->data,
        .count = first->elements,
        .dtype = first->dtype,
        .peer = peer,
        .received = comes != NULL ? comes->data : NULL,
    };

    return device_collective(pipeline->compute, &message);
}

enum status pipeline_evaluate(const struct pipeline *pipeline, const struct encoder *encoder,
                              const struct op_context *context, struct tensor *keep)
{
    if (encoder->input != NULL)
        TRY(pipeline_exchange(pipeline, pipeline->rank - 1, NULL, encoder));
    TRY(program_run(encoder->evaluate, context, encoder->allocator, keep, NULL));
    if (encoder->output != NULL)
        TRY(pipeline_exchange(pipeline, pipeline->rank + 1, encoder, NULL));

    return STATUS_OK;
}
