/* Models for the micro-batches of a step. Those for shorter samples, or for another number of them,
 * are made when their shape first comes up, and stay; they share the parameters of the longest
 * one. */
#include "harness/engine/step/parts/micro_batches.h"

#include "harness/base/rows.h"

#include <stdlib.h>

struct micro_batch {
    const struct encoder *encoder;
    int first; /* of its samples */
};

struct micro_batches {
    struct training_config config;
    struct batch_layout layout;
    const struct encoder *longest;
    struct stream *stream;
    struct trace *trace;     /* NULL: nothing is recorded */
    struct encoder **copies; /* [copy_count], of the longest: for the others in flight */
    int copy_count;
    struct encoder **shorter; /* [shorter_count]: of other shapes than the longest */
    int64_t shorter_count, shorter_room;
    struct micro_batch *of; /* [count], with room for as many as there are at most */
    int count;              /* in the step */
    int64_t tokens;         /* with data, in the step */
};

/* The model at its full length for micro-batch `micro`. */
static const struct encoder *whole(const struct micro_batches *made, int micro)
{
    int copy = micro % (made->copy_count + 1);

    return copy == 0 ? made->longest : made->copies[copy - 1];
}

enum status micro_batches_open(struct micro_batches **opened, const struct training_config *config,
                               const struct batch_layout *layout, const struct encoder *longest,
                               int in_flight, struct stream *stream)
{
    enum status status = STATUS_OK;
    struct micro_batches *made;

    *opened = NULL;
    TRY_OUT(rows_make(&made, 1));
    made->config = *config;
    made->layout = *layout;
    made->longest = longest;
    made->stream = stream;
    made->count = config->launch.accumulate;
    TRY_OUT(rows_make(&made->of, made->count));
    TRY_OUT(rows_make(&made->copies, in_flight));
    for (; made->copy_count < in_flight - 1; made->copy_count++)
        TRY_OUT(encoder_open_shorter(&made->copies[made->copy_count], longest, config,
                                     longest->shape.samples, config->model.tokens, stream));
    for (int i = 0; i < made->count; i++)
        made->of[i] = (struct micro_batch){ whole(made, i), i * longest->shape.samples };
    *opened = made;
    made = NULL;

out:
    micro_batches_close(made);
    return status;
}

void micro_batches_close(struct micro_batches *micro_batches)
{
    if (micro_batches == NULL)
        return;
    for (int64_t i = 0; i < micro_batches->shorter_count; i++)
        encoder_close(micro_batches->shorter[i]);
    for (int i = 0; i < micro_batches->copy_count; i++) encoder_close(micro_batches->copies[i]);
    free(micro_batches->copies);
    free(micro_batches->shorter);
    free(micro_batches->of);
    free(micro_batches);
}

/* The model for part number `micro` of the step, which is made if there is none yet. */
static enum status find_model(struct micro_batches *made, int micro, const struct batch_part *part,
                              const struct encoder **found)
{
    const struct model_shape *longest = &made->longest->shape;
    struct encoder **shorter;

    *found = whole(made, micro);
    if (part->tokens == longest->tokens && part->samples == longest->samples)
        return STATUS_OK;
    for (int64_t i = 0; i < made->shorter_count; i++) {
        *found = made->shorter[i];
        if (part->tokens == (*found)->shape.tokens && part->samples == (*found)->shape.samples)
            return STATUS_OK;
    }
    TRY(rows_grow(&made->shorter, made->shorter_count + 1, &made->shorter_room));
    shorter = &made->shorter[made->shorter_count];
    TRY(encoder_open_shorter(shorter, made->longest, &made->config, part->samples, part->tokens,
                             made->stream));
    made->shorter_count++;
    *found = *shorter;
    return program_trace((*shorter)->train, made->trace);
}

enum status micro_batches_take(struct micro_batches *micro_batches, const int32_t *lengths)
{
    const struct batch_layout *layout = &micro_batches->layout;
    int count = 0;

    micro_batches->tokens = batch_tokens(layout, lengths);
    for (int first = 0; layout->tokens > 0 && first < layout->samples; count++) {
        struct batch_part part = batch_part(layout, lengths, first);
        struct micro_batch *one = &micro_batches->of[count];

        TRY(find_model(micro_batches, count, &part, &one->encoder));
        one->first = first;
        first += part.samples;
    }
    if (count > 0)
        micro_batches->count = count;

    return STATUS_OK;
}

int micro_batches_count(const struct micro_batches *micro_batches)
{
    return micro_batches->count;
}

const struct encoder *micro_batch_encoder(const struct micro_batches *micro_batches, int micro)
{
    return micro_batches->of[micro].encoder;
}

int micro_batch_first(const struct micro_batches *micro_batches, int micro)
{
    return micro_batches->of[micro].first;
}

/* Images have no padding: each token that is computed is data. */
struct token_counts micro_batches_tokens(const struct micro_batches *micro_batches)
{
    struct token_counts counts = { .tokens = micro_batches->tokens };
    int64_t computed = 0;

    for (int i = 0; i < micro_batches->count; i++)
        computed += micro_batches->of[i].encoder->shape.rows;
    if (micro_batches->config.data.kind == DATA_IMAGES)
        counts.tokens = computed;
    counts.padded_tokens = computed - counts.tokens;
    return counts;
}

int64_t micro_batches_sum(const struct micro_batches *micro_batches,
                          int64_t (*of)(const struct program *program))
{
    int64_t sum = 0;

    for (int i = 0; i < micro_batches->count; i++) sum += of(micro_batches->of[i].encoder->train);
    return sum;
}

enum status micro_batches_trace(struct micro_batches *micro_batches, struct trace *trace)
{
    micro_batches->trace = trace;
    TRY(program_trace(micro_batches->longest->train, trace));
    for (int i = 0; i < micro_batches->copy_count; i++)
        TRY(program_trace(micro_batches->copies[i]->train, trace));
    for (int64_t i = 0; i < micro_batches->shorter_count; i++)
        TRY(program_trace(micro_batches->shorter[i]->train, trace));

    return STATUS_OK;
}
