/* The model's accuracy on samples that it was not trained on.
 *
 * Held-out samples go through the forward pass in batches of the training's size, read here without
 * the loader. The host counts the right ones. This is done when it is asked for, and every so many
 * steps by a loop that validates. */
#include "harness/base/rows.h"
#include "harness/device/many_ranks.h"
#include "harness/engine/step/training_parts.h"

#include <stdlib.h>
#include <string.h>

/* Doubles, since ranks add them up. */
struct score {
    double right, all;
};

/* Reads up to a batch of held-out samples from *next on; damaged ones are left out. Copies of the
 * first sample fill the rest of the batch, so that every sample is a real one. */
static enum status read_batch(const struct training *training, struct sample_reader *reader,
                              uint32_t *next, char *batch, int *count)
{
    const struct batch_layout *layout = &training->layout;
    uint32_t all = dataset_count(training->dataset, SPLIT_HELD_OUT);
    int32_t *labels = (int32_t *)(void *)(batch + layout->labels_offset);
    int32_t *lengths = (int32_t *)(void *)(batch + layout->lengths_offset);
    int samples = training->encoder->shape.samples;

    for (*count = 0; *count < samples && *next < all; ++*next) {
        enum status status = sample_load(reader, SPLIT_HELD_OUT, *next,
                                         batch + (size_t)*count * layout->sample_bytes,
                                         &labels[*count], &lengths[*count]);
        if (status == STATUS_OK)
            batch_widen(layout, batch + (size_t)(*count)++ * layout->sample_bytes);
        else if (status != STATUS_BAD_INPUT)
            TRY(status);
    }
    for (int i = *count; *count > 0 && i < samples; i++) {
        memcpy(batch + (size_t)i * layout->sample_bytes, batch, layout->sample_bytes);
        labels[i] = labels[0];
        lengths[i] = lengths[0];
    }

    return STATUS_OK;
}

/* Queues the forward pass of the input and brings the logits to the host as fp32. */
static enum status run_forward(struct training *training, float *logits)
{
    struct encoder *encoder = training->encoder;
    struct tensor *tensor = encoder->logits;
    struct op_context context = training_context(training, 0);
    size_t bytes = (size_t)tensor->elements * sizeof *logits;
    void *widened = NULL;
    enum status status = STATUS_OK;

    context.listeners[0] =
        parameter_shards_listener(gradient_buckets_shards(training->buckets), PROGRAM_FORWARD);
    if (training->pipeline != NULL)
        TRY_OUT(pipeline_evaluate(training->pipeline, encoder, &context, tensor));
    else
        TRY_OUT(program_run(encoder->evaluate, &context, training->allocator, tensor, NULL));
    if (encoder->output != NULL)
        goto out; /* another rank has the logits */
    TRY_OUT(allocator_alloc(training->allocator, MEMORY_WORKSPACE, bytes, &widened));
    TRY_OUT(LAUNCH(training->compute, tensor->dtype, cast_to_float, (long)tensor->elements,
                   .y = widened, .x = tensor->data));
    TRY_OUT(device_copy(training->compute, COPY_DEVICE_TO_HOST, logits, widened, bytes));

out:
    allocator_free(training->allocator, widened);
    /* The pass leaves the logits to its caller. */
    if (!tensor->persistent) {
        allocator_free(training->allocator, tensor->data);
        tensor->data = NULL;
    }
    return status;
}

/* Copies that filled the batch up are not counted. */
static void count_right(const struct training *training, const float *logits, const int32_t *labels,
                        int count, struct score *score)
{
    const struct model_shape *shape = &training->encoder->shape;

    for (int i = 0; i < count; i++) {
        const float *row = logits + (size_t)i * (size_t)shape->classes_width;
        int best = 0;
        for (int c = 1; c < shape->classes; c++)
            if (row[c] > row[best])
                best = c;
        score->right += best == labels[i];
        score->all++;
    }
}

enum status training_evaluate(struct training *training, double *accuracy)
{
    struct sample_reader *reader = NULL;
    struct score score = { 0, 0 };
    uint32_t next = 0;
    int count;
    char *batch = NULL;
    float *logits = NULL;
    enum status status = STATUS_OK;

    TRY_OUT(rows_make(&batch, training->layout.bytes));
    TRY_OUT(rows_make(&logits, training->encoder->logits->elements));
    TRY_OUT(sample_reader_open(&reader, training->dataset));
    for (;;) {
        TRY_OUT(read_batch(training, reader, &next, batch, &count));
        if (count == 0)
            break;
        TRY_OUT(device_copy(training->compute, COPY_HOST_TO_DEVICE,
                            transfer_input(training->transfer), batch, training->layout.bytes));
        TRY_OUT(run_forward(training, logits));
        if (training->encoder->output == NULL)
            count_right(training, logits,
                        (const int32_t *)(const void *)(batch + training->layout.labels_offset),
                        count, &score);
    }
    if (training->pipeline != NULL) /* The last rank of a pipeline has counted all. */
        TRY_OUT(ranks_sum(&score.right, sizeof score / sizeof score.right));
    if (score.all == 0)
        FAIL_OUT(STATUS_BAD_INPUT, "none of the %u held-out samples could be read",
                 dataset_count(training->dataset, SPLIT_HELD_OUT));
    *accuracy = score.right / score.all;

out:
    sample_reader_close(reader);
    free(batch);
    free(logits);
    return status;
}

static enum status validate(struct training *training)
{
    double accuracy;

    return training_evaluate(training, &accuracy);
}

const struct periodic periodic_validation = {
    .phase = "validation",
    .every = offsetof(struct training_config, logging.validate_every),
    .run = validate,
};
